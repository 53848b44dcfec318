package chart

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const (
	deployment = "Deployment " + namespace + "/mainstay-operator-controller-manager"
	pod        = "spec.template.spec"
	digest     = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// row is a value of values.yaml with another value than its default, and where that shows.
type row struct {
	value  string   // its path in values.yaml
	set    []string // as key=value
	object string   // kind, namespace and name
	field  string   // an element of a list is named by its index or its name; none for the whole object
	want   string   // none: there is no such field or object
}

var rows = []row{
	{"scope", []string{"scope=Namespace"}, "Role " + namespace + "/mainstay-operator-manager-role", "kind", "Role"},
	{"watchNamespaces", []string{"watchNamespaces={shop,bank}"}, deployment, manager("env.WATCH_NAMESPACE.value"), "shop,bank"},
	{"watchNamespaces", []string{"watchNamespaces={shop,bank}"}, "RoleBinding bank/mainstay-operator-manager-rolebinding",
		"roleRef.kind", "ClusterRole"},
	{"watchNamespaces", []string{"watchNamespaces={shop,bank}"}, "ClusterRoleBinding /mainstay-operator-manager-rolebinding", "", ""},
	{"image.repository", []string{"image.repository=r.example/m"}, deployment, manager("image"), "r.example/m:v0.2.0"},
	{"image.repository", []string{"image.repository=r.example/m"}, deployment, manager("env.RELATED_IMAGE_OPERATOR.value"),
		"r.example/m:v0.2.0"},
	{"image.tag", []string{"image.repository=r.example/m", "image.tag=v9"}, deployment, manager("image"), "r.example/m:v9"},
	{"image.digest", []string{"image.repository=r.example/m", "image.tag=v9", "image.digest=" + digest}, deployment, manager("image"),
		"r.example/m@" + digest},
	{"image.digest", []string{"image.repository=r.example/m", "image.digest=" + digest}, deployment,
		manager("env.RELATED_IMAGE_OPERATOR.value"), "r.example/m@" + digest},
	{"image.pullPolicy", []string{"image.pullPolicy=Always"}, deployment, manager("imagePullPolicy"), "Always"},
	{"imagePullSecrets", []string{"imagePullSecrets[0].name=registry"}, deployment, pod + ".imagePullSecrets.registry.name", "registry"},
	{"relatedImages.memcached", []string{"relatedImages.memcached=a"}, deployment, manager("env.RELATED_IMAGE_MEMCACHED.value"), "a"},
	{"relatedImages.memcachedExporter", []string{"relatedImages.memcachedExporter=a"}, deployment,
		manager("env.RELATED_IMAGE_MEMCACHED_EXPORTER.value"), "a"},
	{"relatedImages.redis", []string{"relatedImages.redis=a"}, deployment, manager("env.RELATED_IMAGE_REDIS.value"), "a"},
	{"relatedImages.valkey", []string{"relatedImages.valkey=a"}, deployment, manager("env.RELATED_IMAGE_VALKEY.value"), "a"},
	{"relatedImages.etcd_3_5", []string{"relatedImages.etcd_3_5=a"}, deployment, manager("env.RELATED_IMAGE_ETCD_3_5.value"), "a"},
	{"relatedImages.etcd_3_6", []string{"relatedImages.etcd_3_6=a"}, deployment, manager("env.RELATED_IMAGE_ETCD_3_6.value"), "a"},
	{"relatedImages.etcd_3_7", []string{"relatedImages.etcd_3_7=a"}, deployment, manager("env.RELATED_IMAGE_ETCD_3_7.value"), "a"},
	{"relatedImages.activity", []string{"relatedImages.activity=a"}, deployment, manager("env.RELATED_IMAGE_ACTIVITY.value"), "a"},
	{"replicas", []string{"replicas=3"}, deployment, "spec.replicas", "3"},
	{"resources.requests.cpu", []string{"resources.requests.cpu=1"}, deployment, manager("resources.requests.cpu"), "1"},
	{"resources.requests.memory", []string{"resources.requests.memory=1Gi"}, deployment, manager("resources.requests.memory"), "1Gi"},
	{"resources.limits.memory", []string{"resources.limits.memory=1Gi"}, deployment, manager("resources.limits.memory"), "1Gi"},
	{"resources.limits.memory", []string{"resources.limits.memory=1Gi"}, deployment,
		manager("env.GOMEMLIMIT.valueFrom.resourceFieldRef.resource"), "limits.memory"},
	{"priorityClassName", []string{"priorityClassName=high"}, deployment, pod + ".priorityClassName", "high"},
	{"priorityClassName", []string{"priorityClassName=high"}, managers("ResourceQuota"),
		"spec.scopeSelector.matchExpressions.0.values.0", "high"},
	{"priorityClassName", []string{"priorityClassName="}, deployment, pod + ".priorityClassName", ""},
	{"priorityClassName", []string{"priorityClassName="}, managers("ResourceQuota"), "", ""},
	{"resourceQuota.enabled", []string{"resourceQuota.enabled=false"}, managers("ResourceQuota"), "", ""},
	{"nodeSelector", []string{"nodeSelector.pool=system"}, deployment, pod + ".nodeSelector.pool", "system"},
	{"affinity", []string{preferred + "[0].weight=7"}, deployment, pod + "." + preferred + ".0.weight", "7"},
	{"tolerations", []string{"tolerations[0].key=pool"}, deployment, pod + ".tolerations.0.key", "pool"},
	{"podDisruptionBudget.enabled", []string{"podDisruptionBudget.enabled=false"}, managers("PodDisruptionBudget"), "", ""},
	{"networkPolicy.enabled", []string{"networkPolicy.enabled=false"}, managers("NetworkPolicy"), "", ""},
	{"networkPolicy.apiServerPorts", []string{"networkPolicy.apiServerPorts={16443}"}, managers("NetworkPolicy"),
		"spec.egress.0.ports.0.port", "16443"},
	{"serviceAccount.name", []string{"serviceAccount.name=manager"}, deployment, pod + ".serviceAccountName", "manager"},
	{"serviceAccount.name", []string{"serviceAccount.name=manager"}, "ClusterRoleBinding /mainstay-operator-manager-rolebinding",
		"subjects.manager.namespace", namespace},
	{"serviceAccount.annotations", []string{"serviceAccount.annotations.a=b"}, managers("ServiceAccount"), "metadata.annotations.a", "b"},
	{"crds.install", []string{"crds.install=false"}, "CustomResourceDefinition /redis.cache.mainstay-operator.io", "", ""},
	{"userRoles.aggregate", []string{"userRoles.aggregate=false"}, "ClusterRole /mainstay-operator-editor-role", "metadata.labels", ""},
	{"serviceMonitor.enabled", []string{"serviceMonitor.enabled=true"},
		"ServiceMonitor " + namespace + "/mainstay-operator-controller-manager-metrics-monitor", "kind", "ServiceMonitor"},
	{"serviceMonitor.labels", []string{"serviceMonitor.enabled=true", "serviceMonitor.labels.release=prometheus"},
		"ServiceMonitor " + namespace + "/mainstay-operator-controller-manager-metrics-monitor", "metadata.labels.release", "prometheus"},
	{"serviceMonitor.labels", []string{"serviceMonitor.enabled=true", "serviceMonitor.labels.control-plane=a"},
		"ServiceMonitor " + namespace + "/mainstay-operator-controller-manager-metrics-monitor", "metadata.labels.control-plane", "a"},
}

// preferred are nodes that a pod prefers.
const preferred = "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"

// manager is a field of the manager's container.
func manager(field string) string { return pod + ".containers.manager." + field }

// managers is an object of the manager's.
func managers(kind string) string {
	return kind + " " + namespace + "/mainstay-operator-controller-manager"
}

func TestEachValueIsUsed(t *testing.T) {
	defaults, renderings := rendered(t), map[string]map[string]map[string]any{}
	for _, r := range rows {
		set := strings.Join(r.set, ",")
		if renderings[set] == nil {
			renderings[set] = rendered(t, append([]string{"crds.install=false"}, r.set...)...) // the CRDs take most of the time
		}
		t.Run(set+" in "+r.object, func(t *testing.T) {
			if got := textAt(renderings[set][r.object], r.field); got != r.want {
				t.Errorf("%s is %q, not %q", r.field, got, r.want)
			}
			if r.want == "" && textAt(defaults[r.object], r.field) == "" {
				t.Error("it is not there by default either: this row can find nothing")
			}
		})
	}
	var leaves []string
	for leaf := range leavesOf("", valuesOf(t)) {
		leaves = append(leaves, leaf)
		if !strings.HasPrefix(leaf, "tolerations") && !slices.ContainsFunc(rows, func(r row) bool { return r.value == leaf }) {
			t.Errorf("values.yaml has %s, and no row shows what it does", leaf)
		}
	}
	for _, r := range rows {
		if r.value != "tolerations" && !slices.Contains(leaves, r.value) {
			t.Errorf("values.yaml has no %s", r.value)
		}
	}
}

// textAt returns the text of a field, none if it or the object is not there.
func textAt(object map[string]any, field string) string {
	switch {
	case object == nil:
		return ""
	case field == "":
		return fmt.Sprint(object)
	}
	var value any = object
	for name := range strings.SplitSeq(field, ".") {
		value = elementOf(value, name)
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// elementOf returns a field of an object, or the element of a list that has the index or the name.
func elementOf(value any, name string) any {
	list, _ := value.([]any)
	for _, element := range list {
		if children(element)["name"] == name {
			return element
		}
	}
	return children(value)[name]
}

func valuesOf(t *testing.T) map[string]any {
	t.Helper()
	content, err := os.ReadFile(within(t, chart+"/values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.UnmarshalStrict(content, &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// leavesOf returns the paths of what has no fields, also of an empty object. A list is one leaf.
func leavesOf(path string, value any) map[string]bool {
	fields, ok := value.(map[string]any)
	if !ok || len(fields) == 0 {
		return map[string]bool{path: true}
	}
	leaves := map[string]bool{}
	for name, field := range fields {
		for leaf := range leavesOf(strings.TrimPrefix(path+"."+name, "."), field) {
			leaves[leaf] = true
		}
	}
	return leaves
}

func TestValuesThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		set     string
		message []string
	}{
		{"replica=3", []string{"replica"}},
		{"networkPolicy.enable=false", []string{"networkPolicy", "enable"}},
		{"relatedImages.etcd_3_4=a", []string{"relatedImages", "etcd_3_4"}},
		{"serviceAccount.create=false", []string{"serviceAccount", "create"}},
		{"replicas=two", []string{"replicas", "integer"}},
		{"replicas=-1", []string{"replicas", "minimum"}},
		{"replicas=10", []string{"replicas", "maximum"}},
		{"crds.install=yes", []string{"crds", "install", "boolean"}},
		{"image=registry.example.com/manager", []string{"image", "object"}},
		{"image.digest=0123", []string{"image", "digest", "pattern"}},
		{"watchNamespaces=shop", []string{"watchNamespaces", "array"}},
		{"watchNamespaces={shop,shop}", []string{"watchNamespaces"}},
		{"imagePullSecrets[0]=registry", []string{"imagePullSecrets", "object"}},
		{"nodeSelector.pool=1", []string{"nodeSelector", "string"}},
		{"scope=Namespaced", []string{"scope", "'Cluster'", "'Namespace'"}},
		{"scope=Namespace,watchNamespaces={shop}", []string{"watchNamespaces must be empty with scope Namespace"}},
		{"scope=Namespace,serviceMonitor.enabled=true", []string{"serviceMonitor.enabled must be false with scope Namespace"}},
	} {
		t.Run(c.set, func(t *testing.T) {
			_, err := template(t, "--set", c.set)
			if err == nil {
				t.Fatal("it is accepted")
			}
			_, said, _ := strings.Cut(err.Error(), "exit status")
			for _, word := range c.message {
				if !strings.Contains(said, word) {
					t.Errorf("the message has no %q: %s", word, said)
				}
			}
		})
	}
}

func TestAQuotaInANamespaceOfKubernetesIsRefused(t *testing.T) {
	for _, c := range []struct {
		namespace, set string
		refused        bool
	}{
		{"kube-system", "", true},
		{"kube-public", "priorityClassName=high", true},
		{"kube-system", "resourceQuota.enabled=false", false},
		{"kube-system", "priorityClassName=", false},
		{"kube-system", "scope=Namespace", false},
		{"kubernetes", "", false},
	} {
		_, err := template(t, "--namespace", c.namespace, "--set", c.set)
		words := "resourceQuota.enabled must be false in the namespace " + c.namespace
		if c.refused != (err != nil && strings.Contains(err.Error(), words)) || !c.refused && err != nil {
			t.Errorf("%s with %q: %v", c.namespace, c.set, err)
		}
	}
}

// Without these values the chart renders what the API server fills in or leaves out.
var optional = []string{"image.tag", "image.digest", "imagePullSecrets", "resources.requests.cpu", "resources.requests.memory",
	"resources.limits.memory", "priorityClassName", "nodeSelector", "affinity", "tolerations", "serviceAccount.annotations",
	"serviceMonitor.labels"}

func TestNullIsRefusedUnlessAValueIsOptional(t *testing.T) {
	for leaf := range leavesOf("", valuesOf(t)) {
		_, err := template(t, "--set", leaf+"=null")
		name := leaf[strings.LastIndex(leaf, ".")+1:]
		switch isOptional := slices.Contains(optional, leaf); {
		case isOptional && err != nil:
			t.Errorf("%s: %v", leaf, err)
		case !isOptional && (err == nil || !strings.Contains(err.Error(), "missing propert") || !strings.Contains(err.Error(), "'"+name+"'")):
			t.Errorf("%s=null is not refused by its name: %v", leaf, err)
		}
	}
}
