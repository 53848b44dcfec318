package integration

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What OLM will send, an API server takes: each object of the bundle, and the
// manager of its CSV in a namespace that enforces the restricted standard.
var _ = Describe("The bundle", func() {
	It("holds objects that an API server takes", func(ctx SpecContext) {
		namespace := newNamespace(ctx) // enforces the restricted standard
		strictly := client.WithFieldValidation(admin, metav1.FieldValidationStrict)
		take := func(obj client.Object) {
			GinkgoHelper()
			obj.SetNamespace(namespace)
			Expect(strictly.Create(ctx, obj, client.DryRunAll)).To(Succeed(), obj.GetName())
		}
		files, err := filepath.Glob(filepath.Join(root, "bundle/manifests/*.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(files).NotTo(BeEmpty())
		for _, file := range files {
			content, err := os.ReadFile(file)
			Expect(err).NotTo(HaveOccurred())
			obj := &unstructured.Unstructured{}
			Expect(yaml.Unmarshal(content, &obj.Object)).To(Succeed(), file)
			switch obj.GetKind() {
			case "CustomResourceDefinition": // the suite runs on them
			case operators.ClusterServiceVersionKind:
				var csv operators.ClusterServiceVersion
				Expect(yaml.Unmarshal(content, &csv)).To(Succeed())
				for _, deployment := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
					take(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: deployment.Name, Labels: deployment.Label}, Spec: deployment.Spec})
					template := deployment.Spec.Template
					take(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: deployment.Name, Labels: template.Labels}, Spec: template.Spec})
				}
			default:
				take(obj)
			}
		}
	})
})
