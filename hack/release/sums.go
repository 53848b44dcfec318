package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// runSums ends a release: what is put into its folder before has a sum, too.
func runSums(_ context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("sums needs the folder of a release")
	}
	if err := writeSums(args[0]); err != nil {
		return err
	}
	return check(os.Stdout, args[0])
}

const sumsFile = "SHA256SUMS"

// writeSums writes what `sha256sum --check` reads.
func writeSums(folder string) error {
	sums, err := sumsOf(folder)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, sumsFile), []byte(sums), 0o644)
}

// sumsOf are the sums of all files of a folder but the one with the sums, in the order of their names.
func sumsOf(folder string) (string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	var sums strings.Builder
	for _, entry := range entries {
		if entry.Name() == sumsFile {
			continue
		}
		sum, err := sumOf(filepath.Join(folder, entry.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&sums, "%s  %s\n", sum, entry.Name())
	}
	return sums.String(), nil
}

func sumOf(path string) (string, error) {
	content, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = content.Close() }()
	sum := sha256.New()
	_, err = io.Copy(sum, content)
	return fmt.Sprintf("%x", sum.Sum(nil)), err
}
