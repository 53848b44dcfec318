package activity

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
)

func TestLookupUser(t *testing.T) {
	for name, c := range map[string]struct {
		value    string
		baseline bool
		want     string // "" for an error
	}{
		"a uid":                {value: "1000", want: "1000:1000"},
		"uid and gid":          {value: "1000:2000", want: "1000:2000"},
		"of a file":            {value: "1000\n", want: "1000:1000"},
		"the highest":          {value: "2147483647", want: "2147483647:2147483647"},
		"gid 0":                {value: "1000:0", want: "1000:0"},
		"root":                 {value: "0"},
		"root under Baseline":  {value: "0", baseline: true, want: "0:0"},
		"empty":                {value: ""},
		"another name":         {value: "nobody"},
		"beyond 31 bits":       {value: "2147483648"},
		"a gid beyond 31 bits": {value: "1:2147483648"},
		"negative":             {value: "-1"},
		"no gid":               {value: "1000:"},
		"two lines":            {value: "1000\n2000"},
	} {
		t.Run(name, func(t *testing.T) {
			a := activityWith(egov1.ActivitySpec{ExecUser: "deploy"})
			if c.baseline {
				a.Spec.Security = commonv1.SecurityBaseline
			}
			got, err := lookupUser(a, map[string][]byte{"deploy": []byte(c.value)})
			if got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("got %q, %v", got, err)
			}
			if err != nil && (!strings.HasPrefix(err.Error(), "execuser: ") || !strings.Contains(err.Error(), usersConfigMap)) {
				t.Errorf("it does not name field and ConfigMap: %v", err)
			}
		})
	}
}

func users(w *fakeCluster, data map[string]string) {
	w.must(w.server.Create(context.Background(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: usersConfigMap}, Data: data,
	}))
}

// isInvalid returns a func that reports whether the status says that the user must fix the field.
func isInvalid(field string) func(w *fakeCluster) bool {
	return func(w *fakeCluster) bool {
		c := meta.FindStatusCondition(w.activity().Status.Conditions, commonv1.ConditionDegraded)
		return c != nil && c.Reason == commonv1.ReasonInvalidSpec && strings.HasPrefix(c.Message, field+": ")
	}
}

// TestNamedUser is resolved once: a retry runs as the first attempt did.
func TestNamedUser(t *testing.T) {
	w := newFakeCluster(t, 1)
	w.submit(egov1.ActivitySpec{ExecUser: "deploy", Retries: 1})
	w.operator().runUntilQuiet()
	status := w.activity().Status
	if !isInvalid("execuser")(w) || len(w.pods()) > 0 || status.Reason != commonv1.ReasonInvalidSpec ||
		!strings.Contains(status.Message, `create it in this namespace with key "deploy"`) {
		t.Errorf("without a ConfigMap: %+v", w.activity().Status)
	}
	users(w, map[string]string{"deploy": "1000:2000"})
	o := w.operator()
	for len(w.activity().Status.Attempts) < 1 {
		w.must(o.reconcileOnce())
	}
	var changed corev1.ConfigMap
	w.must(w.server.Get(context.Background(), keyOf(usersConfigMap), &changed))
	changed.Data["deploy"] = "3000"
	w.must(w.server.Update(context.Background(), &changed))
	o.runUntilQuiet()
	a := w.activity()
	if a.Status.Prosta != egov1.Failed || len(a.Status.Attempts) != 2 || isInvalid("execuser")(w) ||
		strings.Contains(a.Status.Message, usersConfigMap) {
		t.Errorf("got %+v", a.Status)
	}
	for _, p := range w.pods() {
		if *p.Spec.SecurityContext.RunAsUser != 1000 || *p.Spec.SecurityContext.RunAsGroup != 2000 {
			t.Errorf("pod %s runs as %+v", p.Name, p.Spec.SecurityContext)
		}
	}
}
