// Package integration runs the operator, under the rights it ships with,
// against a real API server and etcd. Pods and workloads are played by
// test/fakekube. Every spec has a namespace and an operator of its own; of several
// processes each has a server of its own, too.
package integration

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/yaml"

	"github.com/mainstay-operator/mainstay-operator/controllers"
	"github.com/mainstay-operator/mainstay-operator/test/fakekube"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

// root of the repository.
const root = "../.."

var (
	scheme   = newScheme()
	cluster  *envtest.Environment
	admin    client.Client // may do everything, reads live
	operates *rest.Config  // bears the operator's shipped rights and no more
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(controllers.AddToScheme(s))
	return s
}

// eventuallyTimeout is how long a change may take to come about, while other processes of the
// suite keep the machine busy.
const eventuallyTimeout = time.Minute

func TestIntegration(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(eventuallyTimeout)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	SetDefaultConsistentlyDuration(300 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	suite, reporter := GinkgoConfiguration()
	if suite.SemVerFilter == "" {
		suite.SemVerFilter = serverVersion(t)
	}
	RunSpecs(t, "Integration", suite, reporter)
}

// assets is the folder of kube-apiserver and etcd.
func assets() string { return cmp.Or(os.Getenv("KUBEBUILDER_ASSETS"), filepath.Join(root, ".bin")) }

// serverVersion returns the version of the API server, as 1.37.1: specs with a SemVerConstraint that it does not meet are left out.
func serverVersion(t *testing.T) string {
	printed, err := exec.Command(filepath.Join(assets(), "kube-apiserver"), "--version").Output()
	if err != nil {
		t.Fatalf("the API server's version: %v: build it by go run -C hack/cluster . assets", err)
	}
	version, err := utilversion.ParseGeneric(strings.TrimPrefix(strings.TrimSpace(string(printed)), "Kubernetes "))
	if err != nil {
		t.Fatalf("the API server's version: %v", err)
	}
	return version.String()
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	cluster = &envtest.Environment{
		BinaryAssetsDirectory: assets(),
		CRDDirectoryPaths:     []string{filepath.Join(root, "config/crd/bases")},
		ErrorIfCRDPathMissing: true,
		Scheme:                scheme,
	}
	cluster.ControlPlane.GetAPIServer().Configure().
		Set("service-cluster-ip-range", "10.96.0.0/16"). // the default holds 254 addresses
		// As OpenShift has it: an owner reference that blocks needs a right of its own.
		Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
	DeferCleanup(func() { Expect(cluster.Stop()).To(Succeed()) }) // also when only half of it started
	config, err := cluster.Start()
	Expect(err).NotTo(HaveOccurred())

	plain, err := client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	admin = client.WithFieldValidation(plain, client.FieldValidation(metav1.FieldValidationStrict)) // as kubectl has it
	operates = shippedRights(ctx)

	driving, rest := context.WithCancel(context.Background())
	DeferCleanup(rest)
	Expect(fakekube.Start(driving, config, scheme, kubelet, controllers.Objects(), controllers.Children())).To(Succeed())
})

// broken ends the name of an image that cannot be pulled.
const broken = ":broken"

// stopping ends the name of an image that stops soon after each start.
const stopping = ":stopping"

// kubelet starts every pod but those of a broken image.
func kubelet(pod *corev1.Pod) {
	image := pod.Spec.Containers[0].Image
	if strings.HasSuffix(image, stopping) {
		fakekube.Run(pod)
		pod.Status.Conditions[0].LastTransitionTime = metav1.NewTime(pod.CreationTimestamp.Add(time.Hour)) // another each time
		pod.Status.ContainerStatuses[0].RestartCount = 2
		pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error"}
		return
	}
	if !strings.HasSuffix(image, broken) {
		fakekube.Run(pod)
		return
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: pod.Spec.Containers[0].Name, Image: image,
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not found"}},
	}}
}

// operatorUser has the operator's rights.
const operatorUser = "operator"

// shippedRights makes a user that may do what config/rbac gives the manager.
func shippedRights(ctx context.Context) *rest.Config {
	const user = operatorUser
	encoded, err := os.ReadFile(filepath.Join(root, "config/rbac/role.yaml"))
	Expect(err).NotTo(HaveOccurred())
	role := &rbacv1.ClusterRole{}
	Expect(yaml.UnmarshalStrict(encoded, role)).To(Succeed())
	Expect(admin.Create(ctx, role)).To(Succeed())
	Expect(admin.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	})).To(Succeed())
	made, err := cluster.AddUser(envtest.User{Name: user}, nil)
	Expect(err).NotTo(HaveOccurred())
	config := made.Config()
	config.QPS = -1 // as ctrl.GetConfig has it; built by hand it would be 5 per second
	return config
}

// forbidden is what the server itself refused to an operator for want of rights.
func forbidden(c fault.Call) bool { return c.Code == http.StatusForbidden && !c.Invented }
