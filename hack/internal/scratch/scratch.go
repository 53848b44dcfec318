// Package scratch reads a Dockerfile that starts FROM scratch, labels and copies, and does nothing else.
package scratch

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

// Image is what a Dockerfile describes.
type Image struct {
	Labels map[string]string
	// Files are in the order in which they are copied, each folder before its content.
	Files []File
}

// File of an image; the name of a folder ends with "/".
type File struct {
	Name    string
	Content []byte
}

// IsFolder reports whether it is a folder.
func (f File) IsFolder() bool { return strings.HasSuffix(f.Name, "/") }

// Mode of a file that everybody may read.
func (f File) Mode() int64 {
	if f.IsFolder() {
		return 0o755
	}
	return 0o644
}

// Read a Dockerfile that copies from a folder.
func Read(dockerfile, from string) (Image, error) {
	content, err := os.ReadFile(dockerfile)
	if err != nil {
		return Image{}, err
	}
	image := Image{Labels: map[string]string{}}
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		words := strings.Fields(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#") || line == "FROM scratch":
		case words[0] == "LABEL" && len(words) == 2 && strings.Contains(words[1], "="):
			key, value, _ := strings.Cut(words[1], "=")
			image.Labels[key] = value
		case words[0] == "COPY" && len(words) == 3:
			copied, err := Copy(filepath.Join(from, words[1]), words[2])
			if err != nil {
				return Image{}, err
			}
			image.Files = append(image.Files, copied...)
		default:
			return Image{}, fmt.Errorf("%s: %q is more than FROM scratch, LABEL key=value and COPY from to", dockerfile, line)
		}
	}
	return image, nil
}

// Copy reads a folder's content, and puts it at its place in an image, in the order of names.
func Copy(folder, to string) ([]File, error) {
	to = strings.Trim(to, "/")
	var files []File
	for parent := range strings.SplitSeq(to, "/") {
		before := ""
		if len(files) > 0 {
			before = files[len(files)-1].Name
		}
		files = append(files, File{Name: before + parent + "/"})
	}
	err := filepath.WalkDir(folder, func(file string, item fs.DirEntry, err error) error {
		if err != nil || file == folder {
			return err
		}
		inside, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		f := File{Name: path.Join(to, filepath.ToSlash(inside))}
		if item.IsDir() {
			f.Name += "/"
		} else if f.Content, err = os.ReadFile(file); err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	return files, err
}
