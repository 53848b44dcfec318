package etcd

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// guarded is an EtcdCluster with passwords, and what its children are made from.
func guarded() (*databasev1alpha1.EtcdCluster, childInputs) {
	e := builders.EtcdCluster("e").In("ns").Auth("chosen").Build()
	e.Status.Membership = &databasev1alpha1.EtcdMembership{Members: []databasev1alpha1.EtcdRecordedMember{{Name: "e-0"}}}
	return e, childInputs{spec: resolve(e, nil), logins: logins{tokenKey: "the-key", root: "of-root", backup: "of-backup",
		published: login{"application-b", "of-application"}, chosen: "next"}}
}

func TestLoginsAreInSecretsAlone(t *testing.T) {
	e, c := guarded()
	want := map[string]map[string]string{
		"e-system":  {"root": "of-root", "token.key": "the-key"},
		"e-tokens":  {"token.key": "the-key"},
		"e-backup":  {"username": "backup", "password": "of-backup"},
		"e-binding": {"username": "application-b", "password": "of-application"},
	}
	for _, child := range desiredChildren(e, c) {
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
	e, c := guarded()
	template := func() string {
		set := childOf[*appsv1ac.StatefulSetApplyConfiguration](t, e, c, "e")
		if args := set.Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--auth-token=jwt,sign-method=HS256,priv-key=/etc/etcd/tokens/token.key,ttl=5m") {
			t.Errorf("got %v", args)
		}
		text, err := json.Marshal(set.Spec.Template)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := template()
	c.logins.root, c.logins.backup, c.logins.published.password, c.logins.chosen = "1", "2", "3", "4"
	if template() != before {
		t.Error("another password takes new pods")
	}
	c.logins.tokenKey = "another"
	if template() == before {
		t.Error("another key takes no new pods")
	}
}

func TestNobodyIsToldOfABindingWithoutAUser(t *testing.T) {
	e, c := guarded()
	for _, published := range []login{{}, {"application-a", "p"}} {
		c.logins.published = published
		if hasBinding(e, c.logins) != (published.user != "") {
			t.Errorf("with %q", published.user)
		}
	}
	e.Spec.Auth = nil
	if !hasBinding(e, logins{}) {
		t.Error("without auth")
	}
}
