package figures

import (
	"path/filepath"
	"testing"
)

func TestALongRunContinuesWhileTheCodeIsTheSame(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.md")
	if err := (Report{Code: "this", Runs: []Run{{Kind: "Memcached", Objects: 1, Contestant: Ours}}}).Save(file); err != nil {
		t.Fatal(err)
	}
	for now, want := range map[string]int{"this": 1, "another": 0, "": 0} {
		if r, err := Load(file, now); err != nil || len(r.Runs) != want || r.Code != now {
			t.Errorf("code %q: %d runs of %q, %v", now, len(r.Runs), r.Code, err)
		}
	}
}
