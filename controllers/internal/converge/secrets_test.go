package converge

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// secretOf returns a Secret that an object of that UID controls.
func secretOf(uid types.UID) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s",
			OwnerReferences: []metav1.OwnerReference{{UID: uid, Name: "a", Controller: ptr.To(true)}}},
		Data: map[string][]byte{"password": []byte("p")},
	}
}

func TestOwnSecret(t *testing.T) {
	for _, c := range []struct {
		name         string
		cached, live *corev1.Secret
		reconciled   bool // the owner has a status
		found        bool
	}{
		{name: "there is none", reconciled: true},
		{name: "ours", cached: secretOf("owner"), live: secretOf("owner"), found: true},
		{name: "somebody else's", cached: secretOf("other"), reconciled: true},
		{name: "a former owner's of this name, live", live: secretOf("other"), reconciled: true},
		{name: "its label was taken off: the cache lacks it", live: secretOf("owner"), reconciled: true, found: true},
		{name: "the API server is not asked for a new object", live: secretOf("owner")},
	} {
		t.Run(c.name, func(t *testing.T) {
			over := &Converger{Client: clientWith(c.cached), APIReader: clientWith(c.live)}
			o := &owner{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "owner"}}
			if c.reconciled {
				o.Status.Conditions = []metav1.Condition{{Type: "Ready"}}
			}
			got, err := over.OwnSecret(t.Context(), o, "s")
			if err != nil {
				t.Fatal(err)
			}
			if found := len(got.Data) > 0; found != c.found {
				t.Errorf("found: %v, want %v", found, c.found)
			}
		})
	}
}

// clientWith returns a cache, or an API server, that has the Secret if it is not nil.
func clientWith(secret *corev1.Secret) client.WithWatch {
	b := fake.NewClientBuilder()
	if secret != nil {
		b.WithObjects(secret)
	}
	return b.Build()
}
