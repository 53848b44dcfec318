package chart

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// RedisShortName is what the CRD of Redis has in the chart, and not in an older one.
const RedisShortName = "rd"

// WriteOlder writes the chart into a folder, as an earlier version whose CRD of Redis has another short name.
func WriteOlder(chart, folder string) error {
	if err := os.CopyFS(folder, os.DirFS(chart)); err != nil {
		return err
	}
	for _, change := range []struct{ file, from, to string }{
		{"Chart.yaml", "\nversion: ", "\nversion: 0.0.1-"},
		{"files/crds/cache.mainstay-operator.io_redis.yaml", "    - " + RedisShortName + "\n", "    - former\n"},
	} {
		path := filepath.Join(folder, change.file)
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if count := bytes.Count(content, []byte(change.from)); count != 1 {
			return fmt.Errorf("%s has %q %d times, not once", path, change.from, count)
		}
		if err := os.WriteFile(path, bytes.Replace(content, []byte(change.from), []byte(change.to), 1), 0o600); err != nil {
			return err
		}
	}
	return nil
}
