package chart

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// What `helm test` makes, and the ConfigMap that the operator makes of it.
const (
	testMemcached = "memcached/mainstay-operator-test"
	testPod       = "pod/mainstay-operator-test"
	testServers   = "configmap/mainstay-operator-test-servers"
)

// of the release's namespace.
func (s server) of(output, object string) string {
	s.Helper()
	return s.run("kubectl", "get", object, "--namespace", namespace, "--output=jsonpath={"+output+"}")
}

// startTest starts `helm test` and waits for its pod. It returns what waits for the end of the test.
func (s server) startTest() (end func() error) {
	s.Helper()
	ended := make(chan error, 1)
	pending, stop := context.WithCancel(s.Context())
	go func() {
		_, err := tool(s.T, "helm", "test", "mainstay-operator", "--namespace", namespace, "--kubeconfig", s.kubeconfig)
		ended <- err
		stop() // no pod comes any more
	}()
	if _, err := toolUntil(pending, s.T, "kubectl", "wait", "--for=create", testPod, "--namespace", namespace, "--timeout=2m", "--kubeconfig",
		s.kubeconfig); err != nil {
		select {
		case testErr := <-ended:
			s.Fatalf("helm test ended without a pod: %v", testErr)
		default:
			s.Fatal(err)
		}
	}
	return func() error { return <-ended }
}

// succeedTest does what a kubelet does when the container has ended, and checks that Helm then removes what it has made.
func (s server) succeedTest(end func() error) {
	s.Helper()
	s.run("kubectl", "patch", testPod, "--namespace", namespace, "--subresource=status", "--type=merge",
		`--patch={"status":{"phase":"Succeeded"}}`)
	if err := end(); err != nil {
		s.Errorf("helm test: %v", err)
	}
	for _, object := range []string{testPod, testMemcached, testServers} {
		s.has(false, object, "--namespace", namespace)
	}
}

func testsTheRelease(s server, _ charts) {
	for range 2 { // one right after the other
		end := s.startTest()
		s.has(true, testMemcached, "--namespace", namespace)
		s.succeedTest(end)
	}
}

// The garbage collector, which does not run here, has removed nothing of a test that was interrupted.
func testsAgain(s server, _ charts) {
	objects := filepath.Join(s.TempDir(), "left.yaml")
	write(s.T, objects, strings.NewReplacer("name: cache", "name: mainstay-operator-test", "namespace: default", "namespace: "+namespace).
		Replace(manifest))
	s.run("kubectl", "create", "--filename", objects)
	left := s.of(".metadata.uid", testMemcached)
	write(s.T, objects, fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata:
  name: mainstay-operator-test-servers
  namespace: %s
  ownerReferences:
  - apiVersion: cache.mainstay-operator.io/v1alpha1
    kind: Memcached
    name: mainstay-operator-test
    uid: %s
    controller: true
data:
  endpoint: mainstay-operator-test
  servers: ""
`, namespace, left))
	s.run("kubectl", "create", "--filename", objects)
	end := s.startTest()
	if uid := s.of(".metadata.uid", testMemcached); uid == left {
		s.Errorf("the Memcached that an earlier test left is there when the pod is created")
	}
	if paused := s.of(".spec.paused", testMemcached); paused == "true" {
		s.Error("the Memcached is paused when the pod is created")
	}
	if data := s.of(".data", testServers); data != "" {
		s.Errorf("the ConfigMap has %s when the pod is created: the operator has not made it, and the pod starts", data)
	}
	if owners := s.of(".metadata.ownerReferences[*].uid", testServers); owners == "" || strings.Contains(owners, left) {
		s.Errorf("the ConfigMap belongs to %q", owners)
	}
	s.succeedTest(end)
}
