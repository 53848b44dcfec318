package etcd

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// What a human restores while the operator is locked out is what it goes on with, and no other edit; what is lost comes from the copy,
// or from memory.
func TestARestoredSecretIsKept(t *testing.T) {
	for _, c := range []struct {
		name      string
		secrets   map[string]map[string]string // by the end of the name
		memory    logins
		lockedOut bool
		key, root string // empty: random
	}{
		{"both Secrets", map[string]map[string]string{"system": {"token.key": "k", "root": "r"}, "tokens": {"token.key": "k"}}, logins{}, false, "k", "r"},
		{"restored, while the operator has made another in its place", map[string]map[string]string{
			"system": {"token.key": "restored", "root": "r"}, "tokens": {"token.key": "made"}}, logins{tokenKey: "made", root: "made"}, true, "restored", "r"},
		{"edited", map[string]map[string]string{"system": {"token.key": "edited", "root": "edited"}}, logins{tokenKey: "k", root: "r", backup: "the password of the backup"}, false, "k", "r"},
		{"the copy is left", map[string]map[string]string{"tokens": {"token.key": "k"}}, logins{}, false, "k", ""},
		{"the memory is left", nil, logins{tokenKey: "k", root: "r", backup: "the password of the backup"}, false, "k", "r"},
		{"nothing is left", nil, logins{}, false, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := builders.EtcdCluster("e").In("ns").Auth("chosen").Build()
			e.UID, e.Status.Conditions = "u", []metav1.Condition{{Type: commonv1.ConditionReady}}
			e.Status.Login = &databasev1alpha1.EtcdLogin{User: "application-a"}
			var objects []ctrlclient.Object
			for end, data := range c.secrets {
				secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "e-" + end,
					OwnerReferences: []metav1.OwnerReference{{UID: "u", Controller: ptr.To(true)}}}, Data: map[string][]byte{}}
				for key, value := range data {
					secret.Data[key] = []byte(value)
				}
				objects = append(objects, secret)
			}
			api := fake.NewClientBuilder().WithObjects(objects...).Build()
			r := &Reconciler{Converger: converge.Converger{Client: api, APIReader: api}}
			r.memory.noteLogins(e, c.memory)
			r.memory.noteAccess(e, membership.World{Access: membership.Access{LockedOut: c.lockedOut}}, time.Unix(0, 0))
			got, err := r.ownLogins(t.Context(), e, resolve(e, nil))
			if err != nil {
				t.Fatal(err)
			}
			if c.key != "" && got.tokenKey != c.key || c.root != "" && got.root != c.root {
				t.Errorf("got %+v", got)
			}
			if len(got.backup) < 20 || c.key == "" && len(got.tokenKey) < 43 || c.root == "" && len(got.root) < 20 {
				t.Errorf("too short: %+v", got)
			}
		})
	}
}
