package figures

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// nextTo returns the name of a file next to that of the report.
func nextTo(file, suffix string) string { return strings.TrimSuffix(file, filepath.Ext(file)) + suffix }

// Load returns the figures next to the file, if they are of this code, and else an empty report.
func Load(file, code string) (Report, error) {
	empty := Report{Code: code}
	if file == "" || code == "" {
		return empty, nil
	}
	text, err := os.ReadFile(nextTo(file, ".json"))
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return empty, err
	}
	var kept Report
	if err := json.Unmarshal(text, &kept); err != nil {
		return empty, fmt.Errorf("%s: %w", nextTo(file, ".json"), err)
	}
	if kept.Code != code {
		return empty, nil
	}
	return kept, nil
}

// Save the table in the file; next to it the figures, and what the program in test/bench/plot draws.
func (r Report) Save(file string) error {
	if file == "" {
		return nil
	}
	all, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	plots, err := json.Marshal(r.Plots())
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{
		file: []byte(r.Table()), nextTo(file, ".json"): all, nextTo(file, ".plots.json"): plots,
	} {
		if err := os.WriteFile(name, text, 0o644); err != nil { //nolint:gosec // for everybody to read
			return err
		}
	}
	return nil
}
