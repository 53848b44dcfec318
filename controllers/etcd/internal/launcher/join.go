package launcher

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki/measured"
)

// mayJoin returns nil if a member that joins and has no log yet may start. etcd would take whatever ID its peers have for its
// URL: that of another member, if one was added in its place, or one that has run already, whose promises an empty log breaks.
//
// A dataLostError is for good: the member has started once, so what it wrote is lost. Any other error may pass. No peer may
// answer yet, and one that lags behind may not know of the member, or know an earlier one: etcd might ask that very peer, so
// all that answer must know the member. If they never do the operator has removed the member, and deletes the pod.
func mayJoin(command []string, permit Permit, at Paths) error {
	if permit.MemberID == "" {
		return nil // it forms the cluster
	}
	if started, err := hasLog(at.Data + "/" + permit.Data); started || err != nil {
		return err // with a log it has its ID from there
	}
	own := wordOf(command, "initial-advertise-peer-urls")
	silent := errors.New("no peer answers")
	for _, peer := range permit.InitialCluster {
		_, url, _ := strings.Cut(peer, "=")
		if url == own {
			continue
		}
		list, err := listMembers(command, url)
		if err != nil {
			if silent != nil {
				silent = fmt.Errorf("no peer reports the list of members: %s: %w", url, err)
			}
			continue
		}
		if err := checkListed(list, own, permit); err != nil {
			return fmt.Errorf("%s: %w", url, err)
		}
		silent = nil
	}
	return silent
}

// listedMember is a member as a peer shows it (server/etcdserver/api/membership, Member).
type listedMember struct {
	ID       uint64   `json:"id"`
	Name     string   `json:"name"`
	PeerURLs []string `json:"peerURLs"`
}

// checkListed returns nil if the list has at that URL the member of the permit, which has never started: etcd names itself then.
func checkListed(list []listedMember, url string, permit Permit) error {
	for _, m := range list {
		if !slices.Contains(m.PeerURLs, url) {
			continue
		}
		switch id := strconv.FormatUint(m.ID, 16); {
		case id != permit.MemberID:
			return fmt.Errorf("member %s has the place of member %s", id, permit.MemberID)
		case m.Name != "":
			return dataLostError(permit.Data)
		}
		return nil
	}
	return fmt.Errorf("it does not list member %s", permit.MemberID)
}

// listMembers asks a peer for the list of members, as etcd does when it joins: by the certificates that its words name.
func listMembers(command []string, url string) ([]listedMember, error) {
	security, err := peerSecurity(command, url)
	if err != nil {
		return nil, err
	}
	text, err := ask(url+"/members", security)
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		err = op.Err // without the ports, which differ each time
	}
	if err != nil {
		return nil, err
	}
	var list []listedMember
	err = json.Unmarshal(text, &list)
	return list, err
}

func peerSecurity(command []string, url string) (*tls.Config, error) {
	if !strings.HasPrefix(url, "https://") {
		return nil, nil
	}
	authority, err := os.ReadFile(wordOf(command, "peer-trusted-ca-file"))
	if err != nil {
		return nil, err
	}
	trusted, err := measured.Pool(authority)
	if err != nil {
		return nil, fmt.Errorf("the authorities of the peers: %w", err)
	}
	certificate, err := os.ReadFile(wordOf(command, "peer-client-cert-file"))
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(wordOf(command, "peer-client-key-file"))
	if err != nil {
		return nil, err
	}
	own, err := measured.KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12}, nil
}

// wordOf returns the value of a flag among etcd's words, which are all of the form --flag=value.
func wordOf(command []string, flag string) string {
	for _, word := range command {
		if value, ok := strings.CutPrefix(word, "--"+flag+"="); ok {
			return value
		}
	}
	return ""
}
