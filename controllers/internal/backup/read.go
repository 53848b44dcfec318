package backup

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

// A termination message is hostile input: it may be of a program that can write into the pod, or of the server whose words the runner
// repeats.

const (
	// MaxItems is how many items a status has: that is their bound in api/common/v1.
	MaxItems = 20
	// sha256Digits is the length of a SHA-256 in hexadecimal.
	sha256Digits = 64
	// maxMember bounds the name of a member of an etcd, in bytes: it is that of a pod.
	maxMember = 63
	// maxVersion bounds the version of a server, in bytes.
	maxVersion = 32
)

// ReadResult reads the termination message of a container of the runner; ok is false if it is no Result. What it returns may be
// shown, and fits into a status.
func ReadResult(message string) (result Result, ok bool) {
	if len(message) > MaxResult || json.Unmarshal([]byte(message), &result) != nil {
		return Result{}, false
	}
	result.Error, result.Warning = untrusted.Sanitize(result.Error), untrusted.Sanitize(result.Warning)
	result.NotCompared = untrusted.SanitizeTo(result.NotCompared, MaxComparison)
	result.MembersDiffer = untrusted.SanitizeTo(result.MembersDiffer, MaxComparison)
	result.Held = untrusted.SanitizeTo(result.Held, MaxHeld)
	if result.Item != nil {
		item, fit := fitItem(*result.Item)
		if !fit {
			return Result{}, false
		}
		result.Item = &item
	}
	result.Items = FitItems(result.Items)
	result.RawSize = max(0, result.RawSize)
	return result, true
}

// ReadFetch judges how a container of CommandFetch ended: either Item is there, or Error says why it is not.
func ReadFetch(ended corev1.ContainerStateTerminated) Result {
	result, _ := ReadResult(ended.Message)
	switch {
	case ended.ExitCode == 0 && result.Item != nil:
		return Result{Item: result.Item, RawSize: result.RawSize, RequiresLogin: result.RequiresLogin, Warning: result.Warning,
			Keys: result.Keys, Expires: result.Expires}
	case ended.ExitCode == 0:
		return Result{Permanent: true, Error: "its manifest has an impossible name, size, revision, offset or SHA-256: choose another backup"}
	case result.Error != "":
		return Result{Permanent: result.Permanent, NodeFull: result.NodeFull, RawSize: result.RawSize, Error: result.Error}
	}
	return Result{Error: fmt.Sprintf("container %s ended with exit code %d (%s)", CommandFetch, ended.ExitCode,
		untrusted.Sanitize(ended.Reason))}
}

// fitItem returns an item as a status may hold it; fit is false where there is no such.
func fitItem(item commonv1.BackupItem) (_ commonv1.BackupItem, fit bool) {
	started, err := ItemTime(item.Name)
	if err != nil || !isSHA256(item.SHA256) || item.Size < 0 || item.Revision < 0 || item.Offset < 0 {
		return commonv1.BackupItem{}, false
	}
	item.Time = metav1.NewTime(started)
	item.ComparedWith = untrusted.SanitizeTo(item.ComparedWith, maxMember)
	item.ServerVersion = untrusted.Sanitize(item.ServerVersion[:min(len(item.ServerVersion), maxVersion)])
	return item, true
}

// FitItems drops what a status may not hold, and sorts the rest, the newest first.
func FitItems(items []commonv1.BackupItem) []commonv1.BackupItem {
	kept := make([]commonv1.BackupItem, 0, min(len(items), MaxItems))
	for _, item := range items {
		known := slices.ContainsFunc(kept, func(k commonv1.BackupItem) bool { return k.Name == item.Name })
		if fitting, fit := fitItem(item); fit && !known && len(kept) < MaxItems {
			kept = append(kept, fitting)
		}
	}
	slices.SortStableFunc(kept, func(a, b commonv1.BackupItem) int { return strings.Compare(b.Name, a.Name) })
	return kept
}

func isSHA256(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == sha256Digits
}
