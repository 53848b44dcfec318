package e2e

import (
	"encoding/xml"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// moment is when the store answers one request of a runner: from then on the runner waits for the answer.
type moment struct {
	method, suffix, part string
	code                 int
}

var (
	// beforeReading is the last answer before the runner looks for a server to read.
	beforeReading = moment{method: http.MethodGet, suffix: ".verified", code: http.StatusNotFound}
	// whileUploading : the second part is in the store, and the upload is not completed.
	whileUploading = moment{method: http.MethodPut, suffix: ".data", part: "2", code: http.StatusOK}
	// whileFetching : what was written is about to be read back.
	whileFetching = moment{method: http.MethodGet, suffix: ".data", code: http.StatusOK}
	// whileMarking : the mark that the backup is verified is in the store.
	whileMarking = moment{method: http.MethodPut, suffix: ".verified", code: http.StatusOK}
)

// is reports whether it is the answer to a request for an object in that folder of the bucket.
func (m moment) is(answer *http.Response, folder string) bool {
	asked := answer.Request
	return answer.StatusCode == m.code && asked.Method == m.method && asked.URL.Query().Get("partNumber") == m.part &&
		strings.Contains(asked.URL.Path, "/"+folder+"/") && strings.HasSuffix(asked.URL.Path, m.suffix)
}

// hold is an answer that is kept back, also where the runner asks once more, as it does when it hears nothing for two minutes.
type hold struct {
	moment
	folder string
	// reached is closed when the runner waits for the answer.
	reached chan struct{}
	// pass has the answer continue.
	pass func()

	reach  func()
	passed chan struct{}
}

// gate stands between the runners and an S3 server. It listens on the node, where pods reach it.
type gate struct {
	// store is the server's bucket, through the gate.
	store commonv1.BackupStore

	mu      sync.Mutex
	holds   []*hold
	refused string // part of a path
	rate    int
}

// openGate to an S3 server, until the spec ends.
func openGate(b bucket) *gate {
	GinkgoHelper()
	listener, err := net.Listen("tcp", net.JoinHostPort(b.hostIP, "0"))
	Expect(err).NotTo(HaveOccurred())
	g := &gate{store: *b.store.DeepCopy()}
	g.store.S3.Endpoint, g.store.S3.CASecretName = "http://"+listener.Addr().String(), ""
	failures := log.New(GinkgoWriter, "gate: ", log.Ltime)
	proxy := &httputil.ReverseProxy{
		// The request keeps its host, which its signature is also of.
		Rewrite:        func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = b.address.Scheme, b.address.Host },
		Transport:      b.transport,
		ModifyResponse: func(answer *http.Response) error { g.keepBack(answer); return nil },
		ErrorLog:       failures,
	}
	handle := func(w http.ResponseWriter, r *http.Request) {
		refuses, rate := g.rules(r)
		switch {
		case refuses:
			refuse(w, r)
			return
		case rate > 0:
			r.Body, w = slowBody{r.Body, newPace(rate)}, slowWriter{w, newPace(rate)}
		}
		proxy.ServeHTTP(w, r)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, ErrorLog: failures, Handler: http.HandlerFunc(handle)}
	go func() { _ = server.Serve(listener) }()
	DeferCleanup(func() error {
		g.mu.Lock()
		holds := g.holds
		g.mu.Unlock()
		for _, h := range holds {
			h.pass()
		}
		return server.Close()
	})
	return g
}

// hold keeps back such an answer to the runner of that backup.
func (g *gate) hold(backup string, m moment) *hold {
	h := &hold{moment: m, folder: namespace + "/" + backup, reached: make(chan struct{}), passed: make(chan struct{})}
	h.reach = sync.OnceFunc(func() { close(h.reached) })
	h.pass = sync.OnceFunc(func() { close(h.passed) })
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holds = append(g.holds, h)
	return h
}

func (g *gate) keepBack(answer *http.Response) {
	g.mu.Lock()
	i := slices.IndexFunc(g.holds, func(h *hold) bool { return h.is(answer, h.folder) })
	if i < 0 {
		g.mu.Unlock()
		return
	}
	h := g.holds[i]
	g.mu.Unlock()
	h.reach()
	<-h.passed
}

// fill has the store refuse all further parts of an upload in that folder, as a full MinIO does, until it is repaired.
func (g *gate) fill(folder string) (repair func()) {
	set := func(folder string) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.refused = folder
	}
	set(folder)
	return func() { set("") }
}

// slow lets no request send or receive more than so many bytes a second from now on.
func (g *gate) slow(rate int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rate = rate
}

func (g *gate) rules(r *http.Request) (refuses bool, rate int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	part := r.URL.Query().Get("partNumber")
	return g.refused != "" && strings.Contains(r.URL.Path, "/"+g.refused+"/") && part != "" && part != "1", g.rate
}

// fullWords are what a full MinIO says.
const fullWords = "Storage backend has reached its minimum free drive threshold."

func refuse(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // or the client may fail to send it, and never read the answer
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(http.StatusInsufficientStorage)
	_ = xml.NewEncoder(w).Encode(struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
	}{Code: "XMinioStorageFull", Message: fullWords})
}

// pace lets bytes pass at a rate.
type pace struct {
	tick *time.Ticker
	left int // bytes until the next tick
}

// atATick is how many bytes pass.
const atATick = 32 << 10

func newPace(rate int) *pace {
	return &pace{tick: time.NewTicker(time.Second * atATick / time.Duration(rate))}
}

// spend waits until so many more bytes may pass.
func (p *pace) spend(bytes int) {
	for p.left -= bytes; p.left < 0; p.left += atATick {
		<-p.tick.C
	}
}

// slowBody is read at a pace.
type slowBody struct {
	io.ReadCloser
	*pace
}

func (s slowBody) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.spend(n)
	return n, err
}

// slowWriter is written to at a pace.
type slowWriter struct {
	http.ResponseWriter
	*pace
}

func (s slowWriter) Write(p []byte) (int, error) {
	s.spend(len(p))
	return s.ResponseWriter.Write(p)
}
