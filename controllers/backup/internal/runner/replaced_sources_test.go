package runner

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// Where what was backed up is lost and recreated, its new backups do not push out the last one of what was there before.
func TestTheLastOfAFormerSourceStays(t *testing.T) {
	for name, c := range map[string]struct {
		// history has a word for each day: the UID of the source, with "-" of a backup that is not verified, and "!" if its manifest
		// cannot be read when the last one is made, "?" if it is none. All but the last day are kept until then.
		history string
		keep    int32
		want    string // the days that are left
		warns   bool
	}{
		"one source":                             {"a a a a", 1, "4", false},
		"a former one":                           {"a a a b b b", 2, "3 5 6", false},
		"its last one is kept anyway":            {"a a b", 2, "2 3", false},
		"several":                                {"a b b c", 1, "1 3 4", false},
		"more than are kept":                     {"a b c d e", 1, "2 3 4 5", false},
		"the last one and the last verified one": {"a a a- b", 1, "2 3 4", false},
		"of what was never verified":             {"a- a- b", 1, "2 3", false},
		"after verify was given up":              {"a a- b- b-", 1, "1 2 4", false},
		"a manifest that cannot be read now":     {"a! a b b", 1, "1 2 4", true},
		"the one after it cannot be":             {"a a! b b", 1, "1 2 4", true},
		"a manifest that is none":                {"a? a b b", 1, "2 4", false},
	} {
		t.Run(name, func(t *testing.T) {
			p, result := newPod(t), backup.Result{}
			days := strings.Fields(c.history)
			for i, word := range days {
				task := p.task(i + 1)
				task.Source.UID, task.Verify = strings.TrimRight(word, "-!?"), !strings.Contains(word, "-")
				if i == len(days)-1 {
					task.Retention = &commonv1.BackupRetention{KeepLast: ptr.To(c.keep)}
				}
				commands := all
				if !task.Verify {
					commands = []string{backup.CommandBackup, backup.CommandFinish}
				}
				result = p.succeed(task, commands...)
				manifest := backup.ManifestName(backup.Etcd, item(i+1))
				switch word[len(word)-1] {
				case '!':
					p.replace(manifest, bytes.Repeat([]byte(" "), backup.MaxManifest+1))
				case '?':
					p.replace(manifest, []byte("{"))
				}
			}
			var left []string
			for i := range days {
				if slices.Contains(p.objects(), backup.ManifestName(backup.Etcd, item(i+1))) {
					left = append(left, fmt.Sprint(i+1))
				}
			}
			if got := strings.Join(left, " "); got != c.want || (result.Warning != "") != c.warns {
				t.Errorf("%q are left, %+v", got, result)
			}
		})
	}
}
