// Package serve gives a backup that was fetched to the members of an etcd, and to no other client. It is one command of the runner.
package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/scratch"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki/measured"
)

const (
	// headerLimit bounds the time that a question takes to arrive, the handshake included.
	headerLimit = 10 * time.Second
	// endLimit is the time that those who read have when the server is asked to stop.
	endLimit = 5 * time.Second
)

// Options are the places that are served, and where; a test has others than InPod.
type Options struct {
	// Address to listen at, as host:port.
	Address string
	// Peers is the directory with ca.crt, tls.crt and tls.key.
	Peers string
	// Manifest and Data are the files that are served.
	Manifest, Data string
}

// InPod are those in a pod of the runner.
var InPod = Options{Address: fmt.Sprintf(":%d", backup.ServePort), Peers: backup.PeersDir, Manifest: backup.ManifestFile,
	Data: backup.DataFile}

// Run serves until ctx ends. The error says why it cannot serve.
func Run(ctx context.Context, o Options) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Address)
	if err != nil {
		return fmt.Errorf("serving the backup: %w", err)
	}
	return o.serve(ctx, listener)
}

func (o Options) serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{Handler: o.handler(), ReadHeaderTimeout: headerLimit, IdleTimeout: headerLimit, MaxHeaderBytes: 16 << 10}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-ctx.Done():
		case <-ended:
		}
		// What is asked for when ctx has ended is answered by its own context.
		end, done := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
		defer done()
		_ = server.Shutdown(end) // a client that still reads is cut off, and asks again
	}()
	err := server.Serve(tls.NewListener(listener, &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: o.security}))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving the backup: %w", err)
}

// security is read again at each handshake, as the certificates are renewed while it runs.
func (o Options) security(*tls.ClientHelloInfo) (*tls.Config, error) {
	var texts [3][]byte
	for i, name := range []string{"ca.crt", "tls.crt", "tls.key"} {
		var err error
		if texts[i], err = os.ReadFile(filepath.Join(o.Peers, name)); err != nil {
			return nil, err
		}
	}
	trusted, err := measured.Pool(texts[0])
	if err != nil {
		return nil, fmt.Errorf("ca.crt: %w", err)
	}
	own, err := measured.KeyPair(texts[1], texts[2])
	if err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{own}, ClientCAs: trusted,
		ClientAuth: tls.RequireAndVerifyClientCert}, nil
}

func (o Options) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+backup.ManifestPath, sendFile(o.Manifest))
	mux.HandleFunc("GET "+backup.DataPath, sendFile(o.Data))
	return mux
}

// sendFile answers with a file, by no more memory than a connection has.
func sendFile(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		file, err := scratch.Open(name, math.MaxInt64)
		if err != nil {
			http.Error(w, "the backup is not there", http.StatusNotFound)
			return
		}
		defer func() { _ = file.Close() }()
		http.ServeContent(w, r, "", time.Time{}, file)
	}
}
