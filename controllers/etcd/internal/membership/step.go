package membership

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

// Step is the one thing that a pass does.
type Step struct {
	Do      Verb
	Member  string // acted on
	Target  string // who leads next, with MoveLeader
	User    string // of etcd, with SetUser and DropUser
	Version string // with Form and SetVersion
	Image   string // that holds this version
	Alarm   Alarm  // with Disarm
	// the backup is awaited that the cluster starts with: what its pod needs must be there
	Fetches bool
	Restore *databasev1alpha1.EtcdMembershipRestore // that the cluster starts with, with Form and StartRestore; nil for none
	Source  types.UID                               // the EtcdRestore whose backup is fetched; empty for spec.bootstrap
	Backup  string                                  // the EtcdBackup that is made or deleted
	Like    string                                  // the EtcdBackup that says where to and how, with CreateUpgradeBackup
	// members that are given up, with Recover; with Form, former members that have no data
	Lost         []string
	AsSeen       bool          // with DeletePod: only if nothing about the pod has changed since it was seen
	NeedsClaim   bool          // with DeletePod: only if the claim stays, as no other member is known to have the data on its volume
	Message      string        // shown to users
	Reason       string        // of the condition that reports it, with Block
	RequeueAfter time.Duration // when to look again
}

func (s Step) String() string { return fmt.Sprintf("%s %s", s.Do, s.Member) }

// Phrase says to people what the step does, or waits for, and why.
func (s Step) Phrase() string {
	words := verbs[s.Do].phrase
	if s.Member != "" {
		words += " " + s.Member
	}
	if s.Backup != "" {
		words += fmt.Sprintf(" %q", s.Backup)
	}
	if s.User != "" {
		words += " " + s.User
	}
	if s.Target != "" {
		words += " to " + s.Target
	}
	if s.Version != "" {
		words += fmt.Sprintf(" with version %s (%s)", s.Version, s.Image)
	}
	if words == "" || s.Message == "" {
		return words + s.Message
	}
	return words + ": " + s.Message
}

// IsRollout reports whether what was asked for is not everywhere yet while this is the next step.
func (s Step) IsRollout() bool { return verbs[s.Do].isRollout }

// Acts reports whether the step does anything.
func (s Step) Acts() bool { return s.Do.acts() }

// RemovesPod reports whether a pod goes by the step.
func (s Step) RemovesPod() bool { return verbs[s.Do].removesPod }

// TakesAway reports whether the step removes something before it saves the record, so that the record must be confirmed first.
func (s Step) TakesAway() bool { return verbs[s.Do].takesAway }

// Changes reports whether the step changes what is decided next, so that another pass is due at once.
func (s Step) Changes() bool { return verbs[s.Do].changes }
