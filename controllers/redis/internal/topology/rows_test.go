package topology_test

import (
	"slices"
	"testing"

	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// planRow is one row of a table: a scene, and the step that Plan must decide on there.
type planRow struct {
	reason string
	size   int32
	given  func(*Scene) // what is different from the scene that all rows start with
	do     Verb
	nodes  []string
}

// healthy is the row's scene where all rows start with a set that is well.
func healthy(c planRow) *Scene {
	s := Healthy(c.size)
	c.given(s)
	return s
}

// testPlan plans in the scene of each row. A row is run alone by its name.
func testPlan(t *testing.T, scene func(planRow) *Scene, rows []planRow) {
	t.Helper()
	for _, c := range rows {
		t.Run(c.reason, func(t *testing.T) {
			got := scene(c).Situation().Plan()
			if got.Do != c.do || !slices.Equal(got.NodeNames, c.nodes) {
				t.Errorf("got %s (%s), want %s %v", got, got.Message, c.do, c.nodes)
			}
			if got.Do == Wait && got.RequeueAfter == 0 {
				t.Errorf("%s: nothing ends this wait", got.Message)
			}
		})
	}
}
