package factory

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
)

// ActivityMaker makes an Activity.
type ActivityMaker struct{ made egov1.Activity }

// Activity starts one with a name and a shell line.
func Activity(name, command string) *ActivityMaker {
	return &ActivityMaker{egov1.Activity{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       egov1.ActivitySpec{Command: command},
	}}
}

// In puts it into a namespace.
func (f *ActivityMaker) In(namespace string) *ActivityMaker {
	f.made.Namespace = namespace
	return f
}

// Retries sets how often a failed attempt is followed by another.
func (f *ActivityMaker) Retries(retries int32) *ActivityMaker {
	f.made.Spec.Retries = retries
	return f
}

// With changes anything else.
func (f *ActivityMaker) With(change func(*egov1.ActivitySpec)) *ActivityMaker {
	change(&f.made.Spec)
	return f
}

// Build gives the object.
func (f *ActivityMaker) Build() *egov1.Activity { return f.made.DeepCopy() }
