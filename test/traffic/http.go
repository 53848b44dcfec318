package traffic

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
)

// maxBody of an answer that is read, in bytes.
const maxBody = 1 << 16

// Answer is what an HTTP server said.
type Answer struct {
	// From is the address that was dialled.
	From string
	// Status is the code and its text, as "200 OK".
	Status string
	Code   int
	// Body is its start, up to 64 KiB.
	Body string
}

// Get asks for a path over a connection of its own.
func Get(ctx context.Context, network Network, to Service, path string) (Answer, error) {
	from := ""
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := network.Dial(ctx, to)
			if err == nil {
				from = conn.RemoteAddr().String()
			}
			return conn, err
		},
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s%s", to, path), nil)
	if err != nil {
		return Answer{}, err
	}
	response, err := client.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close() //nolint:errcheck // it has been read
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	return Answer{From: from, Status: response.Status, Code: response.StatusCode, Body: string(body)}, err
}
