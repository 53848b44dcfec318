package chart

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// server is a real API server, and Helm and kubectl on it. No controller runs: a Deployment has no pods.
type server struct {
	*testing.T
	kubeconfig string
}

func startServer(t *testing.T) server {
	t.Helper()
	control := &envtest.Environment{BinaryAssetsDirectory: within(t, ".bin"), ControlPlaneStartTimeout: 2 * time.Minute}
	t.Cleanup(func() {
		if err := control.Stop(); err != nil {
			t.Error(err)
		}
	})
	if _, err := control.Start(); err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	write(t, kubeconfig, string(control.KubeConfig))
	return server{t, kubeconfig}
}

func (s server) run(program string, args ...string) string {
	s.Helper()
	said, err := tool(s.T, program, append(args, "--kubeconfig", s.kubeconfig)...)
	if err != nil {
		s.Fatal(err)
	}
	return said
}

// refuses reports the error of Helm, which must have the words.
func (s server) refuses(words string, args ...string) {
	s.Helper()
	_, err := tool(s.T, "helm", append(args, "--kubeconfig", s.kubeconfig)...)
	if err == nil || !strings.Contains(err.Error(), words) {
		s.Fatalf("helm %q is not refused because %q: %v", args, words, err)
	}
}

// has fails the test unless the object exists, or does not.
func (s server) has(want bool, args ...string) {
	s.Helper()
	found := s.run("kubectl", append([]string{"get", "--ignore-not-found", "--output=name"}, args...)...)
	if (found != "") != want {
		s.Fatalf("kubectl get %q prints %q", args, found)
	}
}

// shortNames of the CRD of Redis.
func (s server) shortNames() []string {
	s.Helper()
	return strings.Fields(s.run("kubectl", "get", "crd", "redis.cache.mainstay-operator.io", "--output=jsonpath={.spec.names.shortNames[*]}"))
}

// install returns the words of helm install of the chart.
func install(chart, namespace string, more ...string) []string {
	return append([]string{"install", "mainstay-operator", chart, "--namespace", namespace, "--create-namespace"}, more...)
}

const (
	imported = "cannot be imported into the current release"
	manifest = `apiVersion: cache.mainstay-operator.io/v1alpha1
kind: Memcached
metadata:
  name: cache
  namespace: default
`
)

// dropCRDs leaves a chart those of Redis and Memcached: an API server needs a second for each.
func dropCRDs(t *testing.T, chart string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(chart, "files", "crds", "*.yaml"))
	if err != nil || len(files) < 3 {
		t.Fatalf("%s has the CRDs %q: %v", chart, files, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_redis.yaml") || strings.HasSuffix(file, "_memcacheds.yaml") {
			continue
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestARelease(t *testing.T) {
	s, folder := startServer(t), t.TempDir()
	current, former := filepath.Join(folder, "current"), filepath.Join(folder, "former")
	object, foreign := filepath.Join(folder, "memcached.yaml"), filepath.Join(folder, "install.yaml")
	if err := errors.Join(os.CopyFS(current, os.DirFS(within(t, chart))), WriteOlder(within(t, chart), former)); err != nil {
		t.Fatal(err)
	}
	dropCRDs(t, current)
	dropCRDs(t, former)
	write(t, object, manifest)
	// It is what kustomize builds: TestTheChartRendersWhatKustomizeBuilds.
	write(t, foreign, s.run("helm", "template", "mainstay-operator", current, "--namespace", namespace, "--skip-tests"))
	manager := []string{"deployment/mainstay-operator-controller-manager", "--namespace", namespace}
	role := []string{"clusterrole/mainstay-operator-manager-role"}
	memcached := []string{"memcached/cache", "--namespace=default"}

	t.Log("an upgrade brings the CRDs of the later chart")
	s.run("helm", install(former, namespace)...)
	if names := s.shortNames(); slices.Contains(names, RedisShortName) {
		t.Fatalf("the earlier CRD has the short names %q", names)
	}
	s.run("kubectl", "apply", "--server-side", "--filename", object)
	s.run("helm", "upgrade", "mainstay-operator", current, "--namespace", namespace)
	if names := s.shortNames(); !slices.Contains(names, RedisShortName) {
		t.Fatalf("the CRD has the short names %q", names)
	}

	t.Log("helm test waits for its pod, and removes what it has made")
	helm := exec.CommandContext(t.Context(), within(t, ".bin/helm"), "test", "mainstay-operator", "--namespace", namespace,
		"--kubeconfig", s.kubeconfig)
	helm.Stderr = t.Output()
	if err := helm.Start(); err != nil {
		t.Fatal(err)
	}
	s.run("kubectl", "wait", "--for=create", "pod/mainstay-operator-test", "--namespace", namespace, "--timeout=2m")
	s.has(true, "memcached/mainstay-operator-test", "--namespace", namespace)
	s.run("kubectl", "patch", "pod/mainstay-operator-test", "--namespace", namespace, "--subresource=status", "--type=merge",
		`--patch={"status":{"phase":"Succeeded"}}`) // as a kubelet does
	if err := helm.Wait(); err != nil {
		t.Errorf("helm test: %v", err)
	}
	s.has(false, "memcached/mainstay-operator-test", "--namespace", namespace)
	s.has(false, "pod/mainstay-operator-test", "--namespace", namespace)

	t.Log("a second release with rights on the cluster is refused, and one for its namespace alone is not")
	s.refuses(imported, install(current, "second")...)
	s.run("helm", install(current, "team-a", "--set=scope=Namespace")...)
	s.run("helm", "uninstall", "mainstay-operator", "--namespace=team-a")

	t.Log("an uninstall leaves CRDs, objects and the namespace")
	s.has(true, manager...)
	s.run("helm", "uninstall", "mainstay-operator", "--namespace", namespace)
	s.has(false, manager...)
	s.has(false, role...)
	s.has(true, memcached...)
	s.has(true, "namespace/"+namespace)

	t.Log("the same release takes the CRDs back, another one only if it may")
	s.run("helm", install(current, namespace)...)
	s.run("helm", "uninstall", "mainstay-operator", "--namespace", namespace)
	s.refuses(imported, install(current, "platform")...)
	s.run("helm", install(current, "platform", "--take-ownership")...)
	s.run("helm", "uninstall", "mainstay-operator", "--namespace=platform")

	t.Log("Helm takes over what kubectl has installed, if it may")
	s.run("kubectl", "apply", "--server-side", "--force-conflicts", "--filename", foreign)
	s.refuses(imported, install(current, namespace, "--set=replicas=3")...)
	s.run("helm", install(current, namespace, "--set=replicas=3", "--take-ownership", "--force-conflicts")...)
	if replicas := s.run("kubectl", append([]string{"get", "--output=jsonpath={.spec.replicas}"}, manager...)...); replicas != "3" {
		t.Errorf("%s replicas", replicas)
	}

	t.Log("a CRD that the values leave out stays")
	s.run("helm", "upgrade", "mainstay-operator", current, "--namespace", namespace, "--set=crds.install=false")
	s.has(true, memcached...)
}
