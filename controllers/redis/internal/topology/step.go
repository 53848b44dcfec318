package topology

import (
	"fmt"
	"strings"
	"time"
)

// Step is the one thing that a pass does.
type Step struct {
	Do           Verb
	NodeNames    []string      // acted on
	Message      string        // shown to users
	Reason       string        // of the condition, event or change of the master that reports it
	Evidence     string        // proof that the old master takes no writes
	Unsafe       bool          // a human forced it by annotation
	MinReplicas  int32         // W to set
	RequeueAfter time.Duration // when to look again
}

func (s Step) String() string { return fmt.Sprintf("%s %s", s.Do, strings.Join(s.NodeNames, ",")) }

// Traits are those of its verb. A verb without a row is the business of the operator in charge alone.
func (s Step) Traits() Traits {
	if traits, ok := verbs[s.Do]; ok {
		return traits
	}
	return Traits{Acts: true, NeedsCharge: true, Changes: true}
}
