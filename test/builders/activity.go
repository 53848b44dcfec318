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
func (a *ActivityBuilder) In(namespace string) *ActivityBuilder {
	a.made.Namespace = namespace
	return a
}

// Retries sets how often a failed attempt is followed by another.
func (a *ActivityBuilder) Retries(retries int32) *ActivityBuilder {
	a.made.Spec.Retries = retries
	return a
}

// With changes anything else.
func (a *ActivityBuilder) With(change func(*egov1.ActivitySpec)) *ActivityBuilder {
	change(&a.made.Spec)
	return a
}

// Build gives the object.
func (a *ActivityBuilder) Build() *egov1.Activity { return a.made.DeepCopy() }
