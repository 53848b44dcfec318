package builders

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
)

// EasyServiceBuilder makes an EasyService.
type EasyServiceBuilder struct{ made appv1.EasyService }

// EasyService starts one with nothing but a name and an image.
func EasyService(name string) *EasyServiceBuilder {
	return &EasyServiceBuilder{appv1.EasyService{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appv1.EasyServiceSpec{Image: "docker.io/library/nginx:1.26"},
	}}
}

// In puts it into a namespace.
func (e *EasyServiceBuilder) In(namespace string) *EasyServiceBuilder {
	e.made.Namespace = namespace
	return e
}

// Size sets the number of pods.
func (e *EasyServiceBuilder) Size(size int32) *EasyServiceBuilder {
	e.made.Spec.Size = ptr.To(size)
	return e
}

// Image sets the image.
func (e *EasyServiceBuilder) Image(image string) *EasyServiceBuilder {
	e.made.Spec.Image = image
	return e
}

// Ports sets the ports.
func (e *EasyServiceBuilder) Ports(ports ...appv1.Port) *EasyServiceBuilder {
	e.made.Spec.Ports = ports
	return e
}

// Envs sets the environment.
func (e *EasyServiceBuilder) Envs(envs ...corev1.EnvVar) *EasyServiceBuilder {
	e.made.Spec.Envs = envs
	return e
}

// Type sets how the ports are offered.
func (e *EasyServiceBuilder) Type(exposed corev1.ServiceType) *EasyServiceBuilder {
	e.made.Spec.Service.Type = exposed
	return e
}

// With changes the spec in any other way.
func (e *EasyServiceBuilder) With(change func(*appv1.EasyServiceSpec)) *EasyServiceBuilder {
	change(&e.made.Spec)
	return e
}

// Build gives a new object each time.
func (e *EasyServiceBuilder) Build() *appv1.EasyService { return e.made.DeepCopy() }
