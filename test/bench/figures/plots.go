package figures

import "slices"

// Plot is a cost over the number of objects, for the program in test/bench/plot.
type Plot struct {
	// Name is part of the name of the file.
	Name   string
	Title  string
	Series []Series
}

// Series is one line of a plot.
type Series struct {
	Name string
	// X is the number of objects.
	X, Y []float64
}

// Plots returns the costs of creating the objects. A kind of which there is only one number of objects has lines of one point.
func (r Report) Plots() []Plot {
	plots := []Plot{
		{Name: "time", Title: "Time until all objects are Ready, s"},
		{Name: "apiserver", Title: "API server's CPU an object, ms"},
		{Name: "managers", Title: "Managers' CPU an object, ms"},
	}
	for i, c := range []column{timeTaken, apiServer, managers} {
		for _, contestant := range []string{Ours, Null} {
			if contestant == Null && !c.bare {
				continue
			}
			plots[i].Series = append(plots[i].Series, r.series(c, contestant)...)
		}
	}
	return plots
}

// series returns one line for each kind.
func (r Report) series(c column, contestant string) []Series {
	var all []Series
	for _, s := range r.settings() {
		value, ok := Median(valuesOf(r.runsOf(s.kind, s.objects, contestant), Create, c.of))
		if !ok {
			continue
		}
		name := s.kind + ", " + contestant
		i := slices.IndexFunc(all, func(s Series) bool { return s.Name == name })
		if i < 0 {
			i, all = len(all), append(all, Series{Name: name})
		}
		all[i].X, all[i].Y = append(all[i].X, float64(s.objects)), append(all[i].Y, value)
	}
	return all
}
