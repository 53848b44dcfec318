package children

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// guarded are the inputs of an EtcdCluster with passwords.
func guarded() Inputs {
	e := builders.EtcdCluster("e").In("ns").Auth("chosen").Build()
	e.Status.Membership = &databasev1alpha1.EtcdMembership{Members: []databasev1alpha1.EtcdRecordedMember{{Name: "e-0"}}}
	in := inputsOf(e)
	in.Logins = config.Logins{TokenKey: "the-key", Root: "of-root", Backup: "of-backup",
		Published: config.Login{User: "application-b", Password: "of-application"}, Chosen: "next"}
	return in
}

func TestLoginsAreInSecretsAlone(t *testing.T) {
	in := guarded()
	want := map[string]map[string]string{
		"e-system":  {"root": "of-root", "token.key": "the-key"},
		"e-tokens":  {"token.key": "the-key"},
		"e-backup":  {"username": "backup", "password": "of-backup"},
		"e-binding": {"username": "application-b", "password": "of-application"},
	}
	for _, child := range Desired(in) {
		secret, is := child.(*corev1ac.SecretApplyConfiguration)
		if !is {
			text, err := json.Marshal(child)
			if err != nil {
				t.Fatal(err)
			}
			for _, password := range []string{"the-key", "of-root", "of-backup", "of-application"} {
				if strings.Contains(string(text), password) {
					t.Errorf("%q is in %s", password, text)
				}
			}
			continue
		}
		for key, value := range want[*secret.Name] {
			if got := string(secret.Data[key]); got != value {
				t.Errorf("%s: %s is %q", *secret.Name, key, got)
			}
		}
		delete(want, *secret.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

// Another password restarts nothing; another key does, as etcd reads it when it starts.
func TestOnlyAnotherKeyOfTokensTakesNewPods(t *testing.T) {
	in := guarded()
	template := func() string {
		set := statefulSet(in)
		const want = "--auth-token=jwt,sign-method=HS256,priv-key=/etc/etcd/tokens/token.key,ttl=5m"
		if args := set.Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, want) {
			t.Errorf("got %v", args)
		}
		text, err := json.Marshal(set.Spec.Template)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := template()
	in.Logins.Root, in.Logins.Backup, in.Logins.Published.Password, in.Logins.Chosen = "1", "2", "3", "4"
	if template() != before {
		t.Error("another password takes new pods")
	}
	in.Logins.TokenKey = "another"
	if template() == before {
		t.Error("another key takes no new pods")
	}
}

func TestBinding(t *testing.T) {
	i := pki.PublishedIn(fixture.Issue(authority.New("one")))
	e := fixture.Secured(databasev1alpha1.EtcdClientAuthNone)
	e.Status.Membership.Members[2].Joined = true // a learner, which refuses clients
	want := map[string]string{"type": "etcd", "host": "e.ns.svc", "port": "2379", "uri": "https://e.ns.svc:2379",
		"ssl": "true", "ca.crt": string(i.Authorities),
		"endpoints": "https://e-0.e-headless.ns.svc:2379,https://e-1.e-headless.ns.svc:2379"}
	got := map[string]string{}
	in := inputsOf(e)
	in.Identity = i
	for key, value := range bindingSecret(in).Data {
		got[key] = string(value)
	}
	if !maps.Equal(got, want) {
		t.Errorf("with tls: %q", got)
	}
	e.Spec.TLS = nil
	data := bindingSecret(inputsOf(e)).Data
	if string(data["uri"]) != "http://e.ns.svc:2379" || !strings.HasPrefix(string(data["endpoints"]), "http://e-0.") || len(data) != 5 {
		t.Errorf("without: %q", data)
	}
}
