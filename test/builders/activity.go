package builders

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
)

// ActivityBuilder makes an Activity.
type ActivityBuilder struct{ made egov1.Activity }

// Activity starts one with a name and a shell line.
func Activity(name, command string) *ActivityBuilder {
	return &ActivityBuilder{egov1.Activity{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       egov1.ActivitySpec{Command: command},
	}}
}

// In puts it into a namespace.
func (f *ActivityBuilder) In(namespace string) *ActivityBuilder {
	f.made.Namespace = namespace
	return f
}

// Retries sets how often a failed attempt is followed by another.
func (f *ActivityBuilder) Retries(retries int32) *ActivityBuilder {
	f.made.Spec.Retries = retries
	return f
}

// With changes anything else.
func (f *ActivityBuilder) With(change func(*egov1.ActivitySpec)) *ActivityBuilder {
	change(&f.made.Spec)
	return f
}

// Build gives the object.
func (f *ActivityBuilder) Build() *egov1.Activity { return f.made.DeepCopy() }
