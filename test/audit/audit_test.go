package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	get = `{"stage":"ResponseComplete","verb":"get","requestURI":"/apis/coordination.k8s.io/v1/namespaces/ops/leases/lead",` +
		`"user":{"username":"operator"},"objectRef":{"resource":"leases","namespace":"ops","name":"lead","apiGroup":"coordination.k8s.io"},` +
		`"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-02T03:04:05.678901Z"}` + "\n"
	patch = `{"stage":"ResponseComplete","verb":"patch","requestURI":"/x","user":{"username":"operator"},` +
		`"objectRef":{"resource":"redis","subresource":"status","namespace":"shop","name":"a"},"responseStatus":{"code":409},` +
		`"annotations":{"authorization.k8s.io/decision":"forbid"}}` + "\n"
	others       = `{"stage":"ResponseComplete","verb":"get","requestURI":"/x","user":{"username":"operator-2"}}` + "\n"
	impersonated = `{"stage":"ResponseComplete","verb":"get","requestURI":"/x","user":{"username":"somebody"},` +
		`"impersonatedUser":{"username":"operator"}}` + "\n"
	watchStarted = `{"stage":"ResponseStarted","verb":"watch","requestURI":"/api/v1/pods?watch=true","user":{"username":"operator"},` +
		`"objectRef":{"resource":"pods"}}` + "\n"
	watchEnded = `{"stage":"ResponseComplete","verb":"watch","requestURI":"/api/v1/pods?watch=true","user":{"username":"operator"},` +
		`"objectRef":{"resource":"pods"}}` + "\n"
)

func TestBy(t *testing.T) {
	log := Log{Path: filepath.Join(t.TempDir(), "audit.log")}
	if _, err := log.Now(); err == nil {
		t.Error("a missing log must be an error, not silence")
	}
	write := func(text string) {
		t.Helper()
		file, err := os.OpenFile(log.Path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
		_ = file.Close()
	}
	write(get)
	position, err := log.Now()
	if err != nil {
		t.Fatal(err)
	}
	write(watchEnded + patch + others + impersonated + watchStarted + get[:40])

	requests, err := log.By("operator", position)
	if err != nil {
		t.Fatal(err)
	}
	if len(requests) != 2 {
		t.Fatalf("a watch counts when it starts, an unfinished line not at all: %v", requests)
	}
	first := requests[0]
	if first.Verb != "patch" || first.Resource != "redis/status" || first.Namespace != "shop" || first.Code != 409 || !first.Forbidden {
		t.Errorf("%+v", first)
	}
	watches := Matching(requests, func(r Request) bool { return r.Verb == "watch" && r.Resource == "pods" })
	if len(watches) != 1 {
		t.Errorf("watches: %v", watches)
	}
	if err := os.Truncate(log.Path, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := log.By("operator", position); err == nil {
		t.Error("a rotated log must be an error")
	}
}

func TestRequestString(t *testing.T) {
	requests, err := parse(strings.NewReader(get), "operator")
	if err != nil || len(requests) != 1 {
		t.Fatal(requests, err)
	}
	if text := requests[0].String(); text != "03:04:05.678 get /apis/coordination.k8s.io/v1/namespaces/ops/leases/lead -> 200 ()" {
		t.Error(text)
	}
}
