package launcher

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

// fakeEtcd is the first word that makes this process stand for etcd.
const fakeEtcd = "fake-etcd"

// runFakeEtcd notes by which words it was started, in the file "calls". One that no client reaches does what the file "forced" says:
// "serves" at revision 7, and agrees to all that it is asked to do; "waits" or "ends".
func runFakeEtcd(dir string, words []string) int {
	calls, err := os.OpenFile(dir+"/calls", os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return 1
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	_, _ = fmt.Fprintln(calls, strings.Join(words, " "))
	latest := slices.Clone(words) // of two words for the same the later counts
	slices.Reverse(latest)
	last := func(flag string) string { return strings.TrimPrefix(wordOf(latest, flag), "http://") }
	if !strings.HasSuffix(last("listen-client-urls"), fmt.Sprint(":", loopbackClientPort)) {
		return 0
	}
	switch does, _ := os.ReadFile(dir + "/forced"); string(does) {
	case "ends":
		return 3
	case "serves":
		for flag, answer := range map[string]string{"listen-client-urls": "{}",
			"listen-metrics-urls": fmt.Sprintf("# TYPE %s gauge\n%s 7\n", RevisionMetric, RevisionMetric)} {
			listener, err := net.Listen("tcp", last(flag))
			if err != nil {
				return 4
			}
			go func() {
				_ = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, answer) }))
			}()
		}
	}
	select {
	case <-asked:
		_, _ = fmt.Fprintln(calls, "asked to end")
	case <-time.After(time.Minute):
		fmt.Println("it has outlived its launcher")
	}
	return 0
}

// recovering is a pod that is to be recovered, with data, in which a forced server does that.
func recovering(t *testing.T, does string) string {
	t.Helper()
	dir := newPod(t, Permit{})
	permitRecovery(t, dir, "r", 7)
	if err := errors.Join(os.MkdirAll(dir+"/data/d/member/wal/0.wal", 0o700), os.WriteFile(dir+"/forced", []byte(does), 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// permitRecovery writes the permit of the pod.
func permitRecovery(t *testing.T, dir, recovery string, minRevision int64) {
	t.Helper()
	text, _ := json.Marshal(Permit{Pod: "p1", Data: "d", Ran: true, Force: recovery, MinRevision: minRevision})
	if err := os.WriteFile(dir+"/permit", text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// calls are how the servers were started, and asked to end.
func calls(t *testing.T, dir string) []string {
	t.Helper()
	text, err := os.ReadFile(dir + "/calls")
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(text)) {
		word, isForced := "served", strings.Contains(line, "--force-new-cluster")
		switch isHidden := strings.Contains(line, " --listen-client-urls=http://"+loopback(2)+":12379 "); {
		case strings.HasPrefix(line, "snapshot restore "):
			word = "restored"
		case isForced && isHidden:
			word = "forced"
		case isForced:
			word = "forced in public"
		case isHidden:
			word = "reached by no client"
		case strings.HasPrefix(line, "asked"):
			word = "ended"
		}
		list = append(list, word)
	}
	return list
}

// await waits until something holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for limit := time.After(time.Minute); !holds(); {
		select {
		case <-limit:
			t.Fatal("waited in vain: " + what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestForce(t *testing.T) {
	for _, c := range []struct {
		name   string
		starts []string // the recoveries by which it is started
		want   []string
	}{
		{"where no one reaches it, before it serves", []string{"r"}, []string{"forced", "ended", "served"}},
		{"a restart does not force it again", []string{"r", "r"}, []string{"forced", "ended", "served", "served"}},
		{"the next recovery does", []string{"r", "next"}, []string{"forced", "ended", "served", "forced", "ended", "served"}},
		{"not without a recovery", []string{""}, []string{"served"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := recovering(t, "serves")
			for _, recovery := range c.starts {
				permitRecovery(t, dir, recovery, 7)
				if _, message, code := run(t, dir, StartCommand, os.Args[0], fakeEtcd, "--listen-client-urls=http://0.0.0.0:2379"); code != 0 {
					t.Fatal(message)
				}
			}
			if got := calls(t, dir); !slices.Equal(got, c.want) {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestItIsForcedAgainIfKilledBefore(t *testing.T) {
	dir := recovering(t, "waits")
	for _, by := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		before := len(calls(t, dir))
		launcher := startLauncher(t, dir, os.Args[0], fakeEtcd)
		await(t, "it is forced", func() bool { return len(calls(t, dir)) > before })
		if err := launcher.Process.Signal(by); err != nil {
			t.Fatal(err)
		}
		if out := launcher.ended(); strings.Contains(out, "outlived") {
			t.Error(out)
		}
	}
	if got, want := calls(t, dir), []string{"forced", "forced", "ended"}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	if err := os.WriteFile(dir+"/forced", []byte("ends"), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "making the member a cluster of one: etcd ended before it was done: exit status 3"
	if _, message, code := run(t, dir, StartCommand, os.Args[0], fakeEtcd); code != ExitFailed || !strings.Contains(message, want) {
		t.Errorf("it said %q, exit code %d", message, code)
	}
	if _, err := os.Stat(forcedMarker(dir+"/data", "d")); !os.IsNotExist(err) {
		t.Errorf("it counts as done: %v", err)
	}
}

// process is a launcher that runs.
type process struct {
	*exec.Cmd
	out *os.File
}

func startLauncher(t *testing.T, dir string, words ...string) process {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	launcher := exec.Command(os.Args[0], append([]string{StartCommand}, words...)...)
	launcher.Env, launcher.Stdout, launcher.Stderr = append(os.Environ(), asLauncher+"="+dir, PodUIDEnv+"=p1"), write, write
	err = launcher.Start()
	if err = errors.Join(err, write.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = launcher.Process.Kill(); _ = read.Close() })
	return process{launcher, read}
}

// ended waits until it has ended, and all that it has started, and returns what they printed.
func (p process) ended() string {
	out, _ := io.ReadAll(p.out)
	_ = p.Wait()
	return string(out)
}

// realEtcd is a member of etcd, by the words that a launcher gets, and the token of its client; empty for none.
type realEtcd struct {
	words []string
	token string
}

func newRealEtcd(t *testing.T) realEtcd {
	t.Helper()
	program, err := filepath.Abs("../../../../.bin/etcd")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v; `go run -C hack/cluster . assets` builds it", err)
	}
	client, peer, metrics := "http://"+loopback(1)+":2379", "http://"+loopback(1)+":2380", "http://"+loopback(1)+":2381"
	return realEtcd{words: []string{program, "--name=a", "--log-level=error",
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--listen-metrics-urls=" + metrics}}
}

// post asks the server by JSON, and reads the answer into a value.
func (r realEtcd) post(path string, question, answer any) error {
	text, err := json.Marshal(question)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(http.MethodPost, wordOf(r.words, "listen-client-urls")+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	if r.token != "" {
		request.Header.Set("Authorization", r.token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		refusal, _ := io.ReadAll(response.Body)
		return fmt.Errorf("%s: %s", response.Status, refusal)
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

// members are the peer URLs of its members; none if it does not answer.
func (r realEtcd) members() []string {
	var list struct{ Members []struct{ PeerURLs []string } }
	_ = r.post("/v3/cluster/member/list", struct{}{}, &list)
	var urls []string
	for _, m := range list.Members {
		urls = append(urls, m.PeerURLs...)
	}
	return urls
}

func TestARealClusterOfOne(t *testing.T) {
	e, permit := newRealEtcd(t), Permit{Pod: "p1", Data: "d", Fresh: true, State: StateNew, Token: "t"}
	own := wordOf(e.words, "initial-advertise-peer-urls")
	permit.InitialCluster = []string{"a=" + own}
	dir := newPod(t, permit)
	serve := func() process {
		launcher := startLauncher(t, dir, e.words...)
		await(t, "it serves", func() bool { return len(e.members()) > 0 })
		return launcher
	}
	kill := func(p process) {
		_ = p.Process.Kill()
		if out := p.ended(); out != "" {
			t.Log(out)
		}
	}
	add := func(url string, learner bool) {
		t.Helper()
		if err := e.post("/v3/cluster/member/add", map[string]any{"peerURLs": []string{url}, "isLearner": learner}, &struct{}{}); err != nil {
			t.Fatal(err)
		}
	}
	key := base64.StdEncoding.EncodeToString([]byte("key"))

	launcher := serve()
	if err := e.post("/v3/kv/put", map[string]string{"key": key, "value": key}, &struct{}{}); err != nil {
		t.Fatal(err)
	}
	add("http://lost:2380", false) // and with it the majority
	kill(launcher)

	// A forced server, whose launcher is killed before it is done: no one reaches it. It is one whose clients show certificates.
	words := append(slices.Clone(e.words[1:]), "--data-dir="+dir+"/data/d", "--client-cert-auth")
	for key, value := range authority.New("one").Issue("a.ns.svc") {
		if err := os.WriteFile(dir+"/"+key, value, 0o600); err != nil {
			t.Fatal(err)
		}
		flag := map[string]string{"tls.crt": "cert-file", "tls.key": "key-file", "ca.crt": "trusted-ca-file"}[key]
		words = append(words, "--"+flag+"="+dir+"/"+key)
	}
	forced := exec.Command(e.words[0], loopbackCommand(forcedCommand(words), loopback(2))...)
	if err := forced.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "it is a cluster of one", func() bool { return hasMajority(fmt.Sprintf("%s:%d", loopback(2), loopbackMetricsPort)) })
	for _, port := range []string{"2379", "2380", "2381", "12379"} {
		if connection, err := net.Dial("tcp", loopback(1)+":"+port); err == nil {
			_ = connection.Close()
			t.Error("it is reached on port " + port)
		}
	}
	_ = forced.Process.Kill()
	_ = forced.Wait()

	permit.Ran = true
	allow := func(recovery string, revision int64) {
		permit.Force, permit.MinRevision = recovery, revision
		text, _ := json.Marshal(permit)
		if err := os.WriteFile(dir+"/permit", text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	allow("refused", 3)
	isRefused(t, dir, 2, e.words...)
	allow("r", 2)
	launcher = serve()
	if got := e.members(); !slices.Equal(got, []string{own}) {
		t.Errorf("its members are %v", got)
	}
	var found struct{ Kvs []struct{ Value string } }
	if err := e.post("/v3/kv/range", map[string]string{"key": key}, &found); err != nil || len(found.Kvs) != 1 || found.Kvs[0].Value != key {
		t.Errorf("it holds %v, %v", found, err)
	}
	add("http://next:2380", true)
	kill(launcher)
	kill(serve())
	launcher = serve()
	if got := e.members(); len(got) != 2 {
		t.Errorf("a restart drops what was added: %v", got)
	}
	kill(launcher)
}
