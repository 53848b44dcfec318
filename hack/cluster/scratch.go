package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// scratchImage is what a Dockerfile says that starts FROM scratch, labels and
// copies from a folder, and does nothing else.
func scratchImage(name, dockerfile, from string) (ociImage, error) {
	content, err := os.ReadFile(dockerfile)
	if err != nil {
		return ociImage{}, err
	}
	image := ociImage{Name: name, Config: imageConfig{Labels: map[string]string{}}}
	var entries []entry
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		words := strings.Fields(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#") || line == "FROM scratch":
		case words[0] == "LABEL" && len(words) == 2 && strings.Contains(words[1], "="):
			key, value, _ := strings.Cut(words[1], "=")
			image.Config.Labels[key] = value
		case words[0] == "COPY" && len(words) == 3:
			copied, err := copyEntries(filepath.Join(from, words[1]), words[2])
			if err != nil {
				return ociImage{}, err
			}
			entries = append(entries, copied...)
		default:
			return ociImage{}, fmt.Errorf("%s: %q is more than FROM scratch, LABEL key=value and COPY from to", dockerfile, line)
		}
	}
	own, err := entriesLayer(entries)
	image.Layers = []layer{own}
	return image, err
}

// copyEntries are a folder's content at its place in an image, in the order of names.
func copyEntries(folder, to string) ([]entry, error) {
	to = strings.Trim(to, "/")
	var entries []entry
	for parent := range strings.SplitSeq(to, "/") {
		before := ""
		if len(entries) > 0 {
			before = entries[len(entries)-1].name
		}
		entries = append(entries, entry{name: before + parent + "/", mode: 0o755})
	}
	err := filepath.WalkDir(folder, func(file string, item fs.DirEntry, err error) error {
		if err != nil || file == folder {
			return err
		}
		inside, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		e := entry{name: path.Join(to, filepath.ToSlash(inside)), mode: 0o644}
		if item.IsDir() {
			e.name, e.mode = e.name+"/", 0o755
		} else if e.content, err = os.ReadFile(file); err != nil {
			return err
		}
		entries = append(entries, e)
		return nil
	})
	return entries, err
}
