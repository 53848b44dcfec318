package fleet

import (
	"k8s.io/utils/clock"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// runningOperator is an operator with what it remembers of the one object of a test.
type runningOperator struct {
	*Operator
	memory *Memory
}

// startOperator gives an operator that knows of no object yet.
func startOperator(c clock.PassiveClock) runningOperator {
	r := runningOperator{&Operator{Converger: &converge.Converger{}, Clock: c, Watching: &Watching{}}, &Memory{}}
	r.memory.Init()
	return r
}

// fleetOf is what a pass of the operator over the object starts with.
func (r runningOperator) fleetOf(redis *cachev1alpha1.Redis) *Fleet {
	return New(r.Operator, redis, r.memory, scripted{})
}
