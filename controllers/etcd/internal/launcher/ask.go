package launcher

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	// askLimit bounds one question.
	askLimit = time.Second
	// answerLimit bounds an answer, in bytes. The longest are etcd's metrics, of some 200 KiB.
	answerLimit = 4 << 20
)

// ask reads what a server has at a URL, by a connection of its own: the same server is seldom asked twice.
func ask(url string, security *tls.Config) ([]byte, error) {
	client := &http.Client{
		Timeout:       askLimit,
		Transport:     &http.Transport{TLSClientConfig: security, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // only this server is asked
	}
	response, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, response.Status)
	}
	return readAnswer(url, response.Body)
}

// readAnswer reads an answer, which no server may make longer than answerLimit.
func readAnswer(url string, from io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(from, answerLimit+1))
	if err == nil && len(body) > answerLimit {
		err = fmt.Errorf("%s answers more than %d MiB", url, answerLimit>>20)
	}
	return body, err
}
