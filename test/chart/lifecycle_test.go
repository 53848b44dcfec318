package chart

import (
	"errors"
	"os"
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

// charts are what a trial installs.
type charts struct {
	former, current string
	// object is a file with a Memcached, and foreign one with what kubectl installs without Helm.
	object, foreign string
}

func newCharts(t *testing.T) charts {
	t.Helper()
	folder := t.TempDir()
	c := charts{former: filepath.Join(folder, "former"), current: filepath.Join(folder, "current"),
		object: filepath.Join(folder, "memcached.yaml"), foreign: filepath.Join(folder, "install.yaml")}
	if err := errors.Join(os.CopyFS(c.current, os.DirFS(within(t, chart))), WriteOlder(within(t, chart), c.former)); err != nil {
		t.Fatal(err)
	}
	dropCRDs(t, c.current)
	dropCRDs(t, c.former)
	write(t, c.object, manifest)
	// It is what kustomize builds: TestTheChartRendersWhatKustomizeBuilds.
	text, err := tool(t, "helm", "template", "mainstay-operator", c.current, "--namespace", namespace, "--skip-tests")
	if err != nil {
		t.Fatal(err)
	}
	write(t, c.foreign, text)
	return c
}

var (
	managerArgs   = []string{"deployment/mainstay-operator-controller-manager", "--namespace", namespace}
	roleArgs      = []string{"clusterrole/mainstay-operator-manager-role"}
	memcachedArgs = []string{"memcached/cache", "--namespace=default"}
)

// Each part starts with what the one before left.
func TestARelease(t *testing.T) {
	s, c := startServer(t), newCharts(t)
	for _, part := range []struct {
		name string
		run  func(server, charts)
	}{
		{"an upgrade brings the CRDs of the later chart", upgrades},
		{"helm test waits for its pod, and removes what it has made", testsTheRelease},
		{"helm test does not succeed by what an earlier one left", testsAgain},
		{"a second release with rights on the cluster is refused, and one for its namespace alone is not", installsASecond},
		{"an uninstall leaves CRDs, objects and the namespace", uninstalls},
		{"the same release takes the CRDs back, another one only if it may", installsAgain},
		{"Helm takes over what kubectl has installed, if it may", takesOver},
		{"a CRD that the values leave out stays", leavesCRDsOut},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.run(server{t, s.kubeconfig}, c) }) {
			return
		}
	}
}

func upgrades(s server, c charts) {
	s.run("helm", install(c.former, namespace)...)
	if names := s.shortNames(); slices.Contains(names, RedisShortName) {
		s.Fatalf("the earlier CRD has the short names %q", names)
	}
	s.run("kubectl", "apply", "--server-side", "--filename", c.object)
	s.run("helm", "upgrade", "mainstay-operator", c.current, "--namespace", namespace)
	if names := s.shortNames(); !slices.Contains(names, RedisShortName) {
		s.Fatalf("the CRD has the short names %q", names)
	}
}

func installsASecond(s server, c charts) {
	s.refuses(imported, install(c.current, "second")...)
	s.run("helm", install(c.current, "team-a", "--set=scope=Namespace")...)
	s.run("helm", "uninstall", "mainstay-operator", "--namespace=team-a")
}

func uninstalls(s server, _ charts) {
	s.has(true, managerArgs...)
	s.run("helm", "uninstall", "mainstay-operator", "--namespace", namespace)
	s.has(false, managerArgs...)
	s.has(false, roleArgs...)
	s.has(true, memcachedArgs...)
	s.has(true, "namespace/"+namespace)
}

func installsAgain(s server, c charts) {
	s.run("helm", install(c.current, namespace)...)
	s.run("helm", "uninstall", "mainstay-operator", "--namespace", namespace)
	s.refuses(imported, install(c.current, "platform")...)
	s.run("helm", install(c.current, "platform", "--take-ownership")...)
	s.run("helm", "uninstall", "mainstay-operator", "--namespace=platform")
}

func takesOver(s server, c charts) {
	s.run("kubectl", "apply", "--server-side", "--force-conflicts", "--filename", c.foreign)
	s.refuses(imported, install(c.current, namespace, "--set=replicas=3")...)
	s.run("helm", install(c.current, namespace, "--set=replicas=3", "--take-ownership", "--force-conflicts")...)
	if replicas := s.run("kubectl", append([]string{"get", "--output=jsonpath={.spec.replicas}"}, managerArgs...)...); replicas != "3" {
		s.Errorf("%s replicas", replicas)
	}
}

func leavesCRDsOut(s server, c charts) {
	s.run("helm", "upgrade", "mainstay-operator", c.current, "--namespace", namespace, "--set=crds.install=false")
	s.has(true, memcachedArgs...)
}
