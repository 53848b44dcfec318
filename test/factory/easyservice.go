package factory

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
)

// EasyServiceMaker makes an EasyService.
type EasyServiceMaker struct{ made appv1.EasyService }

// EasyService starts one with nothing but a name and an image.
func EasyService(name string) *EasyServiceMaker {
	return &EasyServiceMaker{appv1.EasyService{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appv1.EasyServiceSpec{Image: "docker.io/library/nginx:1.26"},
	}}
}

// In puts it into a namespace.
func (f *EasyServiceMaker) In(namespace string) *EasyServiceMaker {
	f.made.Namespace = namespace
	return f
}

// Size sets the number of pods.
func (f *EasyServiceMaker) Size(size int32) *EasyServiceMaker {
	f.made.Spec.Size = ptr.To(size)
	return f
}

// Image sets the image.
func (f *EasyServiceMaker) Image(image string) *EasyServiceMaker {
	f.made.Spec.Image = image
	return f
}

// Ports sets the ports.
func (f *EasyServiceMaker) Ports(ports ...appv1.Port) *EasyServiceMaker {
	f.made.Spec.Ports = ports
	return f
}

// Envs sets the environment.
func (f *EasyServiceMaker) Envs(envs ...corev1.EnvVar) *EasyServiceMaker {
	f.made.Spec.Envs = envs
	return f
}

// Type sets how the ports are offered.
func (f *EasyServiceMaker) Type(exposed corev1.ServiceType) *EasyServiceMaker {
	f.made.Spec.Service.Type = exposed
	return f
}

// With changes the spec in any other way.
func (f *EasyServiceMaker) With(change func(*appv1.EasyServiceSpec)) *EasyServiceMaker {
	change(&f.made.Spec)
	return f
}

// Build gives a new object each time.
func (f *EasyServiceMaker) Build() *appv1.EasyService { return f.made.DeepCopy() }
