package main

import (
	"archive/tar"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// entry is one file, folder (a name with "/" at its end) or link of a layer.
type entry struct {
	name    string
	mode    int64
	content []byte
	link    string
	uid     int
}

// entriesLayer packs entries in their order.
func entriesLayer(entries []entry) (layer, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		header := &tar.Header{
			Name: e.name, Mode: e.mode, Size: int64(len(e.content)), Uid: e.uid, Gid: e.uid,
			Typeflag: tar.TypeReg, ModTime: time.Unix(0, 0),
		}
		switch {
		case strings.HasSuffix(e.name, "/"):
			header.Typeflag = tar.TypeDir
		case e.link != "":
			header.Typeflag, header.Linkname = tar.TypeSymlink, e.link
		}
		if err := w.WriteHeader(header); err != nil {
			return layer{}, err
		}
		if _, err := w.Write(e.content); err != nil {
			return layer{}, err
		}
	}
	if err := w.Close(); err != nil {
		return layer{}, err
	}
	return layerOf(out.Bytes()), nil
}

// treeLayer packs a folder into a file, without what matches skip. Times are
// left out, devices too: a container gets its own.
func treeLayer(root, path string, skip func(name string) bool) (layer, error) {
	file, err := os.Create(path)
	if err != nil {
		return layer{}, err
	}
	defer closeQuietly(file)
	pack := &treePacker{root: root, tar: tar.NewWriter(file), skip: skip, links: map[uint64]string{}}
	if err := filepath.WalkDir(root, pack.add); err != nil {
		return layer{}, err
	}
	if err := pack.tar.Close(); err != nil {
		return layer{}, err
	}
	return layerFile(path)
}

type treePacker struct {
	root  string
	tar   *tar.Writer
	skip  func(name string) bool
	links map[uint64]string // inode to the name it was first packed with
}

func (t *treePacker) add(path string, item fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	name, err := filepath.Rel(t.root, path)
	if err != nil || name == "." {
		return err
	}
	info, err := item.Info()
	if err != nil {
		return err
	}
	if t.skip(name) || info.Mode()&(fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket) != 0 {
		return nil
	}
	header, err := t.header(path, name, info)
	if err != nil {
		return err
	}
	if err := t.tar.WriteHeader(header); err != nil || header.Typeflag != tar.TypeReg {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer closeQuietly(file)
	_, err = io.Copy(t.tar, file)
	return err
}

func (t *treePacker) header(path, name string, info fs.FileInfo) (*tar.Header, error) {
	target := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		var err error
		if target, err = os.Readlink(path); err != nil {
			return nil, err
		}
	}
	header, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return nil, err
	}
	header.Name, header.Uname, header.Gname = name, "", ""
	header.ModTime, header.AccessTime, header.ChangeTime = time.Unix(0, 0), time.Time{}, time.Time{}
	if info.IsDir() {
		header.Name += "/"
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && header.Typeflag == tar.TypeReg && stat.Nlink > 1 {
		if first, packed := t.links[stat.Ino]; packed {
			header.Typeflag, header.Linkname, header.Size = tar.TypeLink, first, 0
		} else {
			t.links[stat.Ino] = name
		}
	}
	return header, nil
}
