package runner

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

// sanitize puts text of a store or a server on one line, and bounds it line by line: joined errors have one line each.
func sanitize(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if len(lines) == maxLines {
			break
		}
		lines = append(lines, untrusted.Sanitize(line))
	}
	return strings.Join(lines, "; ")
}

// maxLines is how many lines of an error are reported. With the bound of untrusted.Sanitize on each they leave room for an item.
const maxLines = 3

// leave writes the result as the container's termination message. What does not fit is left out: first items, the oldest first, then
// the warning.
func leave(result backup.Result, file string) error {
	text, err := fit(result)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644) //nolint:gosec // kubelet reads it
}

func fit(result backup.Result) ([]byte, error) {
	result.Error, result.Warning, result.Held = sanitize(result.Error), sanitize(result.Warning),
		untrusted.SanitizeTo(result.Held, backup.MaxHeld)
	result.NotCompared = untrusted.SanitizeTo(result.NotCompared, backup.MaxComparison)
	result.MembersDiffer = untrusted.SanitizeTo(result.MembersDiffer, backup.MaxComparison)
	for {
		text, err := json.Marshal(result)
		if err != nil || len(text) <= backup.MaxResult {
			return text, err
		}
		switch {
		case len(result.Items) > 0:
			result.Items = result.Items[:len(result.Items)-1]
		case result.Warning != "":
			result.Warning = ""
		default:
			result.Error, result.Item = untrusted.Sanitize(result.Error), nil
			return json.Marshal(result)
		}
	}
}
