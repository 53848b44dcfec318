package etcd

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// What a human restores while the operator is locked out is what it continues with, and no other edit; what is lost comes from the copy,
// or from memory.
func TestARestoredSecretIsKept(t *testing.T) {
	for _, c := range []struct {
		name      string
		secrets   map[string]map[string]string // by the end of the name
		memory    config.Logins
		lockedOut bool
		key, root string // empty: random
	}{
		{"both Secrets", map[string]map[string]string{"system": {"token.key": "k", "root": "r"}, "tokens": {"token.key": "k"}}, config.Logins{},
			false, "k", "r"},
		{"restored, while the operator has made another in its place", map[string]map[string]string{
			"system": {"token.key": "restored", "root": "r"}, "tokens": {"token.key": "made"}}, config.Logins{TokenKey: "made", Root: "made"}, true,
			"restored", "r"},
		{"edited", map[string]map[string]string{"system": {"token.key": "edited", "root": "edited"}},
			config.Logins{TokenKey: "k", Root: "r", Backup: "the password of the backup"}, false, "k", "r"},
		{"the copy is left", map[string]map[string]string{"tokens": {"token.key": "k"}}, config.Logins{}, false, "k", ""},
		{"the memory is left", nil, config.Logins{TokenKey: "k", Root: "r", Backup: "the password of the backup"}, false, "k", "r"},
		{"nothing is left", nil, config.Logins{}, false, "", ""},
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
			p := effectsOn(api, e)
			p.spec, p.known.logins = config.Resolve(e, &appsv1.StatefulSet{}, nil), c.memory
			p.known.members.NoteAccess(membership.World{Access: membership.Access{LockedOut: c.lockedOut}}, time.Unix(0, 0))
			got, err := p.ownLogins(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if c.key != "" && got.TokenKey != c.key || c.root != "" && got.Root != c.root {
				t.Errorf("got %+v", got)
			}
			if len(got.Backup) < 20 || c.key == "" && len(got.TokenKey) < 43 || c.root == "" && len(got.Root) < 20 {
				t.Errorf("too short: %+v", got)
			}
		})
	}
}
