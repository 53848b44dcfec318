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
func (f *EasyServiceBuilder) In(namespace string) *EasyServiceBuilder {
	f.made.Namespace = namespace
	return f
}

// Size sets the number of pods.
func (f *EasyServiceBuilder) Size(size int32) *EasyServiceBuilder {
	f.made.Spec.Size = ptr.To(size)
	return f
}

// Image sets the image.
func (f *EasyServiceBuilder) Image(image string) *EasyServiceBuilder {
	f.made.Spec.Image = image
	return f
}

// Ports sets the ports.
func (f *EasyServiceBuilder) Ports(ports ...appv1.Port) *EasyServiceBuilder {
	f.made.Spec.Ports = ports
	return f
}

// Envs sets the environment.
func (f *EasyServiceBuilder) Envs(envs ...corev1.EnvVar) *EasyServiceBuilder {
	f.made.Spec.Envs = envs
	return f
}

// Type sets how the ports are offered.
func (f *EasyServiceBuilder) Type(exposed corev1.ServiceType) *EasyServiceBuilder {
	f.made.Spec.Service.Type = exposed
	return f
}

// With changes the spec in any other way.
func (f *EasyServiceBuilder) With(change func(*appv1.EasyServiceSpec)) *EasyServiceBuilder {
	change(&f.made.Spec)
	return f
}

// Build gives a new object each time.
func (f *EasyServiceBuilder) Build() *appv1.EasyService { return f.made.DeepCopy() }
