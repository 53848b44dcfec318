package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
)

// api is as much of a client as this program needs.
type api struct{ client *http.Client }

// newAPI acts as one of clusterSubjects.
func newAPI(l layout, user string) (*api, error) {
	pair, err := tls.LoadX509KeyPair(l.pki(user+".crt"), l.pki(user+".key"))
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(l.pki("ca.crt"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	transport := &http.Transport{ // without a proxy: it is this machine
		TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, MinVersion: tls.VersionTLS12},
	}
	return &api{client: &http.Client{Transport: transport}}, nil
}

// statusError is an answer that is not a success.
type statusError struct {
	code int
	text string
}

func (s statusError) Error() string { return fmt.Sprintf("%d: %s", s.code, s.text) }

func isStatus(err error, code int) bool {
	status := statusError{}
	return errors.As(err, &status) && status.code == code
}

// call sends in, if any, and decodes the answer into out, if any.
func (a *api) call(ctx context.Context, method, path string, in, out any) error {
	body, err := a.open(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer closeQuietly(body)
	if out == nil {
		_, err := io.Copy(io.Discard, body)
		return err
	}
	return json.NewDecoder(body).Decode(out)
}

// open returns the body of a successful answer, to be read and closed.
func (a *api) open(ctx context.Context, method, path string, in any) (io.ReadCloser, error) {
	content := []byte{}
	if in != nil {
		var err error
		if content, err = json.Marshal(in); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, apiServer+path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "mainstay-cluster")
	response, err := a.client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode < 300 {
		return response.Body, nil
	}
	defer closeQuietly(response.Body)
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<12))
	return nil, statusError{response.StatusCode, fmt.Sprintf("%s %s: %s", method, path, text)}
}

// closeQuietly is for what has been read to its end, or no longer matters.
func closeQuietly(c io.Closer) { _ = c.Close() }

// answers checks that a URL answers with 200.
func answers(client *http.Client, url string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer closeQuietly(response.Body)
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<12))
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s: %s", url, response.Status, lastLines(string(text), 5))
		}
		return nil
	}
}
