// Command plot draws what the benchmark measured, as SVG: it reads <report>.plots.json, and writes <report>-<name>.svg for each plot.
//
// It is a module of its own, so that the operator's go.mod does not name what draws.
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"

	"github.com/wcharczuk/go-chart/v2"
)

// plot and series are Plot and Series of test/bench/figures.
type (
	plot struct {
		Name, Title string
		Series      []series
	}
	series struct {
		Name string
		X, Y []float64
	}
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "plot:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 1 {
		return fmt.Errorf("one argument is needed: the path of the report, without its suffix")
	}
	report := arguments[0]
	text, err := os.ReadFile(report + ".plots.json") //nolint:gosec // the user names it
	if err != nil {
		return err
	}
	var plots []plot
	if err := json.Unmarshal(text, &plots); err != nil {
		return fmt.Errorf("%s.plots.json: %w", report, err)
	}
	for _, p := range plots {
		if len(p.Series) == 0 {
			continue
		}
		if err := write(p, report+"-"+p.Name+".svg"); err != nil {
			return fmt.Errorf("drawing %s: %w", p.Name, err)
		}
	}
	return nil
}

func write(p plot, name string) (err error) {
	file, err := os.Create(name) //nolint:gosec // the user names it
	if err != nil {
		return err
	}
	if err := p.draw(file); err != nil {
		_ = file.Close() // the first error counts
		return err
	}
	return file.Close()
}

// draw both axes from zero, so that what looks twice as high is twice as much.
func (p plot) draw(to io.Writer) error {
	var lines []chart.Series
	var width, height float64
	for i, s := range p.Series {
		style := chart.Style{StrokeColor: chart.GetDefaultColor(i), StrokeWidth: 2, DotColor: chart.GetDefaultColor(i), DotWidth: 4}
		lines = append(lines, chart.ContinuousSeries{Name: s.Name, XValues: s.X, YValues: s.Y, Style: style})
		for j := range s.X {
			width, height = max(width, s.X[j]), max(height, s.Y[j])
		}
	}
	graph := chart.Chart{
		Title: p.Title, Width: 800, Height: 480, Series: lines,
		Background:     chart.Style{Padding: chart.Box{Top: 50, Left: 20, Right: 20, Bottom: 20}},
		XAxis:          chart.XAxis{Name: "Objects", Range: axis(width), Ticks: p.measured()},
		YAxis:          chart.YAxis{Range: axis(height), Ticks: rounded(height)},
		YAxisSecondary: chart.YAxis{Style: chart.Hidden()},
	}
	graph.Elements = []chart.Renderable{chart.Legend(&graph)}
	return graph.Render(chart.SVG, to)
}

// measured returns a tick for each number of objects, and for 0: an axis is as long as its ticks.
func (p plot) measured() []chart.Tick {
	ticks := []chart.Tick{tick(0)}
	for _, s := range p.Series {
		for _, x := range s.X {
			ticks = append(ticks, tick(x))
		}
	}
	slices.SortFunc(ticks, func(a, b chart.Tick) int { return cmp.Compare(a.Value, b.Value) })
	return slices.Compact(ticks)
}

// rounded returns some five ticks from 0 to a value or the next above it, at multiples of 1, 2 or 5 of a power of ten.
func rounded(end float64) []chart.Tick {
	const most = 6
	power := math.Pow(10, math.Floor(math.Log10(max(end, 1e-9)/most)))
	step := 10 * power
	for _, multiple := range []float64{1, 2, 5} {
		if end/(multiple*power) <= most {
			step = multiple * power
			break
		}
	}
	ticks := []chart.Tick{tick(0)}
	for n := 1.0; (n-1)*step < end; n++ {
		ticks = append(ticks, tick(n*step))
	}
	return ticks
}

func tick(value float64) chart.Tick {
	return chart.Tick{Value: value, Label: strconv.FormatFloat(value, 'g', 6, 64)}
}

// axis from zero. It must have a length.
func axis(end float64) chart.Range { return &chart.ContinuousRange{Min: 0, Max: max(end, 1e-9)} }
