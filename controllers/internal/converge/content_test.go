package converge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// contentWorld is an owner of one Secret in an API server that notes what is read whole and what is written.
type contentWorld struct {
	*Converger
	owner         *owner
	child         Child
	server        client.WithWatch
	reads, writes []string
}

func newContentWorld(t *testing.T) *contentWorld {
	t.Helper()
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Owner"}, &owner{})
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	w := &contentWorld{owner: &owner{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "owner"}},
		child: corev1ac.Secret("ours", "n").WithData(map[string][]byte{"password": []byte("p")})}
	w.server = fake.NewClientBuilder().WithScheme(scheme).WithIndex(&corev1.Secret{}, ownerIndex, controllerUID).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
				if _, bare := obj.(*metav1.PartialObjectMetadata); !bare {
					w.reads = append(w.reads, key.Name)
				}
				return c.Get(ctx, key, obj, o...)
			},
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
				if _, bare := list.(*metav1.PartialObjectMetadataList); !bare {
					w.reads = append(w.reads, fmt.Sprintf("%T", list))
				}
				return c.List(ctx, list, o...)
			},
			Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
				w.writes = append(w.writes, "apply")
				return errors.New("refused")
			},
			Delete: func(_ context.Context, _ client.WithWatch, obj client.Object, _ ...client.DeleteOption) error {
				w.writes = append(w.writes, "delete "+obj.GetName())
				return nil
			},
		}).Build()
	w.Converger = &Converger{Client: w.server, APIReader: w.server, Owned: []client.Object{&corev1.Secret{}}}
	want, err := w.withOwnerAndHash(w.owner, w.child)
	if err != nil {
		t.Fatal(err)
	}
	live := &corev1.Secret{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(want.Object, live); err != nil {
		t.Fatal(err)
	}
	live.UID = "child"
	if err := w.server.Create(t.Context(), live); err != nil {
		t.Fatal(err)
	}
	return w
}

// forge makes a Secret that says it is the owner's.
func (c *contentWorld) forge(t *testing.T, name string) {
	t.Helper()
	if err := c.server.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "example.org/v1", Kind: "Owner", Name: "a", UID: c.owner.UID,
			Controller: ptr.To(true)}}}}); err != nil {
		t.Fatal(err)
	}
}

func (c *contentWorld) edit(t *testing.T, change func(*corev1.Secret)) {
	t.Helper()
	secret := &corev1.Secret{}
	if err := c.server.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: "ours"}, secret); err != nil {
		t.Fatal(err)
	}
	change(secret)
	if err := c.server.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	c.reads, c.writes = nil, nil
}

func (c *contentWorld) expect(t *testing.T, reads, writes string) {
	t.Helper()
	if got := strings.Join(c.reads, ","); got != reads {
		t.Errorf("read whole: %q, want %q", got, reads)
	}
	if got := strings.Join(c.writes, ","); got != writes {
		t.Errorf("written: %q, want %q", got, writes)
	}
	c.reads, c.writes = nil, nil
}

func TestTheContentOfAChildIsReadOncePerVersion(t *testing.T) {
	w := newContentWorld(t)
	pass := func() { _, _ = w.ApplyChildren(t.Context(), w.owner, w.child) } // the writes are refused
	pass()
	w.expect(t, "ours", "")
	pass()
	w.expect(t, "", "")
	w.edit(t, func(s *corev1.Secret) { s.Labels = map[string]string{"touched": "1"} })
	pass()
	pass()
	w.expect(t, "ours", "")
	w.edit(t, func(s *corev1.Secret) { s.Data["password"] = []byte("edited") })
	pass()
	w.expect(t, "ours", "apply")
	w.edit(t, func(s *corev1.Secret) { s.Annotations[AppliedAnnotation] = "other" })
	pass() // what must be written need not be read
	w.expect(t, "", "apply")
}

// A pass that asks for a Secret of ours and compares it reads it once.
func TestOwnSecretAndItsComparisonAreOneRead(t *testing.T) {
	w := newContentWorld(t)
	for range 3 {
		secret, err := w.OwnSecret(t.Context(), w.owner, "ours")
		if err != nil || string(secret.Data["password"]) != "p" {
			t.Fatalf("%v, %v", secret, err)
		}
		secret.Data["password"] = []byte("any user who has it may change it")
		if _, err := w.ApplyChildren(t.Context(), w.owner, w.child); err != nil {
			t.Fatal(err)
		}
	}
	w.expect(t, "ours", "")
}

// What a reference says of an object is no reason to read it; only its name is, which a spec of ours gives.
func TestForgedOwnerReferencesCauseNoRead(t *testing.T) {
	w := newContentWorld(t)
	var removed []string
	for i := range 5 {
		name := fmt.Sprintf("forged-%d", i)
		w.forge(t, name)
		removed = append(removed, "delete "+name)
	}
	if _, err := w.Converge(t.Context(), w.owner, w.child); err != nil {
		t.Fatal(err)
	}
	slices.Sort(w.writes)
	w.expect(t, "ours", strings.Join(removed, ","))
}

// No user fills the memory by naming one Secret after another, nor with a large one.
func TestWhatIsRememberedOfUsersSecretsIsBounded(t *testing.T) {
	w := newContentWorld(t)
	users := NewUserSecrets(NewSecretReader(cacheOf{Client: w.server}, w.server))
	read := func(name string) {
		t.Helper()
		if _, err := users.Data(t.Context(), w.owner, name); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		read("ours")
	}
	w.expect(t, "ours", "")
	for i := range 20 {
		read(fmt.Sprintf("another-%d", i))
	}
	known, unlock := users.read.Lock(w.owner)
	if len(*known) > maxNames {
		t.Errorf("%d are remembered", len(*known))
	}
	unlock()
	w.edit(t, func(s *corev1.Secret) { s.Data["large"] = make([]byte, maxRemembered) })
	for range 2 {
		read("ours")
	}
	w.expect(t, "ours,ours", "")
}

// cacheOf is a client that passes for a cache.
type cacheOf struct {
	client.Client
	cache.Informers
}

// A Secret that is larger than any of ours is not kept in memory.
func TestALargeSecretIsNotRemembered(t *testing.T) {
	w := newContentWorld(t)
	w.edit(t, func(s *corev1.Secret) { s.Data["large"] = make([]byte, maxRemembered) })
	for range 2 {
		if secret, err := w.OwnSecret(t.Context(), w.owner, "ours"); err != nil || len(secret.Data["large"]) != maxRemembered {
			t.Fatalf("%d bytes, %v", len(secret.Data["large"]), err)
		}
	}
	w.expect(t, "ours,ours", "")
}
