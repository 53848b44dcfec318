package mutants

import (
	"slices"
	"strings"
	"testing"
)

// interleaving lost confirmed writes, or showed readers that there are none, before there were rules
// that exclude it.
type interleaving struct {
	name  string
	rules []string // mutants that break each
	start string   // of the explorer
}

var interleavings = []interleaving{
	{"a disk wins over living replicas",
		[]string{"a history that may change is recorded", "recorded before its history is final",
			"who continued with another history is passed over"},
		"a first master whose replicas come"},
	{"empty is taken for lost",
		[]string{"an older epoch wins by its keys"},
		"an emptied set next to an older volume"},
	{"the API server is restored from a backup",
		[]string{"no second master is the right one", "who continued with another history is passed over"},
		"a failover that the backup does not know"},
	{"a dropped replica confirms writes",
		[]string{"dropped while the master lets it in"},
		"a replica without a pod"},
	{"W is lowered, and not recorded yet",
		[]string{"W by the record alone"},
		"a W that was lowered"},
	{"a server without data answers readers",
		[]string{"a server without data answers"},
		"one fault and one crash"},
	{"a replica comes back with an older file",
		[]string{"dropped, and what it may have confirmed is not asked of a candidate"},
		"a replica that came back with an older snapshot"},
	{"a backup lacks what was confirmed when it started",
		[]string{"a dump is of a replica that lags", "a dump that starts too early is taken"},
		"a backup of a set at rest is read"},
	{"a backup is of a master that was replaced",
		[]string{"a master is read that was replaced while it hung"},
		"a backup of a set whose former master wakes"},
	{"a backup changes the recorded history",
		[]string{"a history that may change is recorded", "recorded before its history is final"},
		"a backup of a set that is being formed is read"},
	{"a backup confirms writes",
		[]string{"a dump is asked for as a replica does", "who is not recorded may stay"},
		"a backup is read of a master whose replica comes back"},
	{"a backup is taken for a replica",
		[]string{"anyone who is copied to is expelled"},
		"a backup is read of a master whose replica comes back"},
}

// etcdInterleavings took the majority of an EtcdCluster away, or were never repaired.
var etcdInterleavings = []interleaving{
	{"an image that cannot be pulled is corrected, and its pod stays",
		[]string{"a pod that never ran stays, as another has run"},
		"three without storage form with an image that cannot be pulled, one crash"},
	{"requests that no node has are corrected, and the pod stays",
		[]string{"a pod that never ran stays, as another has run"},
		"three without storage form with a template that never starts, one crash"},
	{"an image that no server runs with is kept",
		[]string{"an image that no server runs with is kept once spec.image is removed"},
		"three without storage form with an image that cannot be pulled, one crash"},
	{"a server that was killed for memory serves again, and its pod is deleted",
		[]string{"a pod whose server was killed goes, whatever its kubelet has reported since",
			"a pod that fails goes though its server answers by now"},
		"three without storage have too little memory, and one is killed while the operator is stopped"},
	{"the node of a member is silent, and the corrected template does not reach another",
		[]string{"a dead pod keeps the corrected template from another"},
		"the node of one of three is silent, and another has a template by mistake that never starts, one crash"},
	{"a drain takes one of two voters",
		[]string{"two voters on the way to one have no budget"},
		"three become one while a node is drained, one crash"},
	{"an operator deletes the pod of what was the only member when it was stopped",
		[]string{"an older record takes something away"},
		"an operator that was stopped next to the only member wakes among three, while a node is drained"},
	{"caches show pods that never ran, and these have formed a cluster since",
		[]string{"a pod that never ran goes, whatever its kubelet has reported since"},
		"three without storage have formed a cluster that the caches do not show, two faults"},
	{"the API server is put back to when the cluster formed, and it is formed again next to its data",
		[]string{"a cluster is formed again over keys"},
		"two of three have been replaced since the API server was backed up, and it is put back"},
	{"a member starts without data next to the log of another cluster",
		[]string{"a permit names no data"},
		"three form on volumes of which two have the data of another cluster, one crash"},
	{"a member that was given up does not start next to what it has left",
		[]string{"what a recovery gives up is another cluster's"},
		"a majority of five is lost"},
	{"the member that a recovery continues from knows of less after a power failure",
		[]string{"the revision that was allowed is not in the permit"},
		"a majority is lost, and the node of another loses power"},
	{"the last copy goes with the claim of the member from which a recovery continues",
		[]string{"the pod of a survivor goes with its claim", "the only data goes with a pod whose claim somebody has just deleted"},
		"a majority is lost, and somebody deletes a claim"},
	{"the members agree on the next version while the operator is stopped",
		[]string{"an upgrade is rolled back by what was seen long ago"},
		"two of three run the next minor version, and are to return, one fault and one crash"},
	{"the last member of the former version goes right after the upgrade was rolled back",
		[]string{"pods are made with an earlier version than the members have agreed on"},
		"two of three run the next minor version, and are to return, one fault and one crash"},
	{"the last member of the former version loses its data, and its successor is of that version",
		[]string{"a pod of an earlier version starts"},
		"two of three run the next minor version, and are to return, one fault and one crash"},
	{"the next upgrade goes by the backup of the one that was rolled back",
		[]string{"the backup of an upgrade that was rolled back counts for the next"},
		"three are to go to the next minor version after a backup, are not, and are, one crash"},
	{"an object is applied again, and a cluster without data hides its volumes",
		[]string{"another cluster is formed next to volumes that cannot be reused"},
		"three are deleted and applied again, one crash"},
	{"users have deleted keys, and writes are refused for ever",
		[]string{"keys that are deleted are never compacted"},
		"three exceed their quota, and users delete keys, one crash"},
	{"a file that fits once its free pages are gone is left",
		[]string{"what would be enough is not freed"},
		"three exceed their quota, and users delete keys, one crash"},
	{"a disk is put back, and its member votes without what it has confirmed",
		[]string{"a permit names no entry of the log"},
		"the disk of one of three is put back, one crash"},
	{"the leader of others is defragmented",
		[]string{"all members are defragmented at once"},
		"three exceed their quota, and users delete keys, one fault"},
}

// The explorer finds each interleaving again where its rules are broken.
func TestEachInterleavingIsFound(t *testing.T) {
	findEach(t, "internal/fleet", "TestEveryOrderKeepsWhatIsConfirmed/", interleavings)
}

// So does the one of EtcdCluster.
func TestEachInterleavingOfEtcdClusterIsFound(t *testing.T) {
	findEach(t, "../etcd/internal/fleet", "TestEveryOrderKeepsTheMajority/", etcdInterleavings)
}

// findEach has the explorer of a directory search from the start of each interleaving, with its rules broken.
func findEach(t *testing.T, dir, explorer string, all []interleaving) {
	t.Helper()
	program := build(t, dir)
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			for _, rule := range s.rules {
				if !slices.ContainsFunc(planted, func(m mutant) bool { return m.name == rule }) {
					t.Fatalf("no mutant is called %q", rule)
				}
			}
			search := mutant{test: explorer + s.start}
			output := run(program, dir, search.pattern(), s.rules...)
			if !strings.Contains(output, "--- FAIL: "+search.shown()+" (") {
				t.Errorf("it is not found:\n%s", output)
			}
		})
	}
}
