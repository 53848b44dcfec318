package main

import (
	"fmt"
	"regexp"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/mainstay-operator/mainstay-operator/hack/internal/scratch"
)

// chartFolder is the folder that a packed chart has: its name.
const chartFolder = "mainstay-operator"

// packChart packs the Helm chart, with images by digest: always the same bytes, unlike `helm package`, which packs the time
// as well.
func packChart(a about, from material, operator v1.Hash) ([]byte, error) {
	files := slices.Clone(from.chart)
	for name, fields := range map[string][]field{
		"Chart.yaml":  {{`version: `, a.version, a.version}},
		"values.yaml": {{`  repository: `, `.*`, a.repository}, {`  digest: `, `""`, operator.String()}},
	} {
		i := slices.IndexFunc(files, func(f scratch.File) bool { return f.Name == chartFolder+"/"+name })
		if i < 0 {
			return nil, fmt.Errorf("it has no %s", name)
		}
		text := string(files[i].Content)
		for _, f := range fields {
			line := regexp.MustCompile(`(?m)^` + f.key + f.before + `$`)
			if found := line.FindAllString(text, -1); len(found) != 1 {
				return nil, fmt.Errorf("%s must have one line %q, and has %q: make bundle writes the version", name, line, found)
			}
			text = line.ReplaceAllLiteralString(text, f.key+f.after)
		}
		files[i].Content = []byte(from.operands.pin(text))
	}
	return pack(filesOf(files))
}

// field of a file of the chart: a line that starts with key. before is a regular expression.
type field struct{ key, before, after string }
