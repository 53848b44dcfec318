package main

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

// uploads that run at once, each larger than what HTTP/2 lets a client send before it is read.
const (
	uploads    = 4
	uploadSize = 1 << 20
)

// A client that prefers HTTP/2 pushes layers at once, as crane and make release-push do.
func TestUploadsDoNotWaitForEachOther(t *testing.T) {
	production := newServer("", t.TempDir())
	server := httptest.NewUnstartedServer(production.Handler)
	server.Config.Protocols = production.Protocols
	server.EnableHTTP2 = production.Protocols == nil || production.Protocols.HTTP2()
	server.StartTLS()
	t.Cleanup(server.Close)
	client := server.Client()
	client.Transport.(*http.Transport).ForceAttemptHTTP2 = true
	places := make([]string, uploads)
	for i := range places {
		started, err := client.Post(server.URL+"/v2/a/blobs/uploads/", "", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		_ = started.Body.Close()
		if places[i] = started.Header.Get("Location"); started.StatusCode != http.StatusAccepted || places[i] == "" {
			t.Fatalf("%s, at %q", started.Status, places[i])
		}
	}
	ended := make(chan error, uploads)
	for _, place := range places {
		go func() { ended <- upload(client, server.URL+place) }()
	}
	for range places {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func upload(client *http.Client, url string) error {
	request, err := http.NewRequest(http.MethodPatch, url, bytes.NewReader(make([]byte, uploadSize)))
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	if err := answer.Body.Close(); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusAccepted {
		return errors.New(answer.Status)
	}
	if answer.ProtoMajor != 1 {
		return errors.New("uploads that share a connection can wait for each other: " + answer.Proto)
	}
	return nil
}
