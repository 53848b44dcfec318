package launcher

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

const (
	// manifestPath and dataPath are where the pod of the backup has what was fetched (package backup).
	manifestPath, dataPath = "/manifest", "/data"
	// stallLimit is how long the server of the backup may send nothing.
	stallLimit = 30 * time.Second
	// manifestLimit bounds a manifest, in bytes (backup.MaxManifest).
	manifestLimit = 16 << 10
)

// manifest is what the launcher needs to know of a backup: fields of backup.Manifest.
type manifest struct {
	Item      string `json:"item"`
	SHA256    string `json:"sha256"`
	RawSize   int64  `json:"rawSize"`
	RawSHA256 string `json:"rawSHA256"`
}

// download gets the backup that the permit names into the folder of the restore, if the volume has room for it. Every error
// but a lack of room may pass: the pod of the backup may be recreated.
func download(command []string, from Restore, work string) error {
	client, err := backupClient(command, from.URL)
	if err != nil {
		return err
	}
	var about manifest
	if err := get(client, from.URL+manifestPath, manifestLimit,
		func(body io.Reader) error { return json.NewDecoder(body).Decode(&about) }); err != nil {
		return err
	}
	if about.Item != from.Item || about.SHA256 != from.SHA256 {
		return fmt.Errorf("the pod of the backup has %.64q, and the permit names %q", about.Item, from.Item)
	}
	if err := checkRoom(work, about.RawSize); err != nil {
		return err
	}
	return get(client, from.URL+dataPath, about.RawSize, func(body io.Reader) error { return save(body, snapshotFile(work), about) })
}

// backupClient shows the member's certificate, and takes that of any member: all name all members.
func backupClient(command []string, address string) (*http.Client, error) {
	security, err := peerSecurity(command, address)
	if err != nil {
		return nil, err
	}
	if own, err := url.Parse(wordOf(command, "initial-advertise-peer-urls")); err == nil && security != nil {
		security.ServerName = own.Hostname() // a certificate names no addresses
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: security, DisableKeepAlives: true, DisableCompression: true,
		DialContext: (&net.Dialer{Timeout: askLimit}).DialContext, TLSHandshakeTimeout: stallLimit, ResponseHeaderTimeout: stallLimit}}, nil
}

// get reads what is at a URL, for as long as bytes come.
func get(client *http.Client, address string, limit int64, read func(io.Reader) error) error {
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		return op.Err // without the ports, which differ each time
	}
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", address, response.Status)
	}
	stalled := time.AfterFunc(stallLimit, func() { stop(fmt.Errorf("%s has sent nothing for %s", address, stallLimit)) })
	defer stalled.Stop()
	err = read(io.LimitReader(progress{response.Body, stalled}, limit))
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// progress puts the end off with each byte that comes.
type progress struct {
	io.Reader
	stalled *time.Timer
}

func (p progress) Read(to []byte) (int, error) {
	n, err := p.Reader.Read(to)
	if n > 0 {
		p.stalled.Reset(stallLimit)
	}
	return n, err
}

// save writes a backup to a file, if it is what the manifest says.
func save(body io.Reader, name string, about manifest) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	size, err := io.Copy(io.MultiWriter(file, sum), body)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if size != about.RawSize || hex.EncodeToString(sum.Sum(nil)) != about.RawSHA256 {
		return fmt.Errorf("the backup arrived with %d bytes and another checksum than its %d have", size, about.RawSize)
	}
	return nil
}
