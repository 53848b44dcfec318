package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEtcdsImagesAreBuiltFromTheVersionInTheirNames(t *testing.T) {
	for _, r := range etcdReleases {
		for _, b := range r.binaries {
			content, err := os.ReadFile(filepath.Join("..", "..", b.module, "go.mod"))
			if err != nil {
				t.Fatal(err)
			}
			if want := "\t" + b.pkg + " " + r.version + " "; !bytes.Contains(content, []byte(want)) {
				t.Errorf("%s does not require%s for %s", b.module, want, r.imageName())
			}
		}
	}
}

// Two releases that shared a file in .bin, or an archive, would each have it rebuilt, or not.
func TestEtcdsReleasesDoNotShareFiles(t *testing.T) {
	l, seen := layout{Root: filepath.Join("..", "..")}, map[string]bool{}
	for _, r := range etcdReleases {
		archive, err := r.archive(l)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{archive, l.bin(r.binaries[0].name), l.bin(r.binaries[1].name), l.bin(r.binaries[2].name)} {
			if seen[file] {
				t.Errorf("%s is that of two releases", file)
			}
			seen[file] = true
		}
	}
}

func TestEtcdsImageKeepsItsContract(t *testing.T) {
	l, r := layout{Root: t.TempDir()}, etcdReleases[0]
	if err := os.Mkdir(l.bin(""), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, b := range r.binaries {
		if err := os.WriteFile(l.bin(b.name), []byte("program "+b.name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	image, err := r.image(l)
	if err != nil {
		t.Fatal(err)
	}
	files := untar(t, bytes.NewReader(image.Layers[0].content))
	for i, program := range etcdPrograms {
		if got, want := string(files["usr/local/bin/"+program.name]), "program "+r.binaries[i].name; got != want {
			t.Errorf("%s is %q, want %q", program.name, got, want)
		}
	}
	if got := files[strings.TrimPrefix(image.Config.Cmd[0], "/")]; got == nil {
		t.Errorf("its command %q is not in it", image.Config.Cmd)
	}
	if _, there := files[strings.TrimPrefix(image.Config.WorkingDir, "/")+"/"]; !there {
		t.Errorf("its working directory %s is not in it", image.Config.WorkingDir)
	}
	if len(image.Config.Entrypoint) > 0 {
		t.Errorf("it has the entry point %q, and arguments would not replace its command", image.Config.Entrypoint)
	}
}

func TestEtcdReleasesAreChosenByVersion(t *testing.T) {
	for named, want := range map[string]string{
		"":            "v3.5.35 v3.6.16 v3.7.3",
		"3.6":         "v3.6.16",
		"v3.7.3 3.5":  "v3.5.35 v3.7.3",
		"3.6 3.6.16":  "v3.6.16",
		"3.6.16":      "v3.6.16",
		"3.5.35":      "v3.5.35",
		"3.6.1":       "not among",
		"3":           "v3.5.35 v3.6.16 v3.7.3",
		"3.5 3.4":     "not among",
		"latest":      "not among",
		"3.7.3-alpha": "not among",
	} {
		releases, err := chosenEtcd(strings.Fields(named))
		got := strings.Join(versionsOf(releases), " ")
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%q gives %s, want %s", named, got, want)
		}
	}
}
