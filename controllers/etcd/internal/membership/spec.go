package membership

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// MaxSize is the largest size that the API allows.
const MaxSize = 5

// Spec is what is asked for, with every default.
type Spec struct {
	Name, Namespace string
	Size            int32
	HasStorage      bool
	Wanted          Version                   // spec.version, exact
	WantedError     string                    // why spec.version cannot be carried out
	Image           string                    // spec.image, which serves one version alone
	DefaultImages   []string                  // of the newest patches, from FirstMinor on
	VolumeSize      resource.Quantity         // of new members: a StatefulSet cannot change it; 0 without storage
	Quota           int64                     // of data, in bytes
	QuotaError      string                    // why pods have no room for spec.quota, or for any
	NodeDisk        int64                     // of a member without storage, in bytes; 0 if spec.resources sets no limit
	DefragThreshold int32                     // share of free pages, in percent; 0 for none
	RequiresLogin   bool                      // with spec.auth
	AllowedRecovery string                    // ID of the recovery that a human has allowed
	FromBackup      bool                      // a new cluster starts with a backup
	TLS             *databasev1alpha1.EtcdTLS // of clients' connections; nil for none
}

// MemberName is the name of the member with that ordinal, and of its pod.
func (s Spec) MemberName(ordinal int32) string { return fmt.Sprintf("%s-%d", s.Name, ordinal) }

// HeadlessName is the name of the Service by which the members find each other.
func (s Spec) HeadlessName() string { return s.Name + "-headless" }

// SystemName is the name of the Secret with the passwords that only the operator uses, and the key of its tokens.
func (s Spec) SystemName() string { return s.Name + "-system" }

// TokensName is the name of the Secret with the key of tokens, which members mount.
func (s Spec) TokensName() string { return s.Name + "-tokens" }

// BackupName is the name of the Secret with the login of backups.
func (s Spec) BackupName() string { return backup.EtcdSecretName(s.Name) }

// BindingName is the name of the Secret with what a client needs.
func (s Spec) BindingName() string { return s.Name + "-binding" }

// CertificatesName is the name of the Secret with the certificate that clients are shown.
func (s Spec) CertificatesName() string { return backup.CertificatesName(s.Name) }

// AuthorityName is the name of the Secret with the key of the members' own authority.
func (s Spec) AuthorityName() string { return s.Name + "-authority" }

// PeersName is the name of the Secret with the certificates that members show to each other.
func (s Spec) PeersName() string { return s.Name + "-peers" }

// FetchPodName is the name of the pod that has the backup of spec.bootstrap, or of that EtcdRestore.
func (s Spec) FetchPodName(source types.UID) string {
	if source == "" {
		return s.Name + "-restore"
	}
	sum := sha256.Sum256([]byte(source))
	return s.Name + "-restore-" + hex.EncodeToString(sum[:4])
}

// Host is the name of the member's pod in DNS.
func (s Spec) Host(member string) string {
	return fmt.Sprintf("%s.%s.%s.svc", member, s.HeadlessName(), s.Namespace)
}

// ServiceHost is the name by which clients reach any member that is ready.
func (s Spec) ServiceHost() string { return fmt.Sprintf("%s.%s.svc", s.Name, s.Namespace) }

// PeerURL is where the other members reach that one.
func (s Spec) PeerURL(member string) string { return "https://" + s.Host(member) + ":2380" }

// ClientURL is where clients reach that host.
func (s Spec) ClientURL(host string) string {
	return fmt.Sprintf("%s://%s:2379", s.ClientScheme(), host)
}

// ClientScheme is the scheme of the URLs by which clients reach the members.
func (s Spec) ClientScheme() string {
	if s.TLS != nil {
		return "https"
	}
	return "http"
}

// RequiresCertificates reports whether each client shows a certificate.
func (s Spec) RequiresCertificates() bool {
	return s.TLS != nil && s.TLS.ClientAuth == databasev1alpha1.EtcdClientAuthRequired
}

// ClientHosts are the names by which clients reach the members. A certificate names every member that there may be, so that more
// members need no other one.
func (s Spec) ClientHosts() []string { return append([]string{s.ServiceHost()}, s.MemberHosts()...) }

// MemberHosts are the names of the pods of all members that there may be.
func (s Spec) MemberHosts() []string {
	var hosts []string
	for ordinal := range int32(MaxSize) {
		hosts = append(hosts, s.Host(s.MemberName(ordinal)))
	}
	return hosts
}
