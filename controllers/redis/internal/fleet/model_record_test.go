package fleet

import (
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// The model's names for things, and the shipped ones.

var nodeNames = [mostNodes]string{"a-0", "a-1", "a-2", "a-3", "a-4"}

// named ids, made once: a search makes each of them millions of times.
var addresses, runIDs, histories, operators = naming("10.0.0."), naming("run."), naming("history."), naming("operator.")

func naming(prefix string) []string {
	names := make([]string, 4096)
	for i := range names {
		names[i] = prefix + strconv.Itoa(i)
	}
	return names
}

func address(pod id) string   { return addresses[pod] }
func podUID(pod id) types.UID { return types.UID(addresses[pod]) }
func runID(run id) string     { return runIDs[run] }
func historyName(h id) string {
	if h == 0 {
		return ""
	}
	return histories[h]
}

func operatorName(o id) string {
	if o == 0 {
		return ""
	}
	return operators[o]
}

// idIn a shipped name; 0 in none.
func idIn(name string) id {
	n, _ := strconv.Atoi(name[strings.LastIndexByte(name, '.')+1:])
	return id(n) //nolint:gosec // a few thousand
}

func nodeOf(name string) int8 {
	if name == "" {
		return -1
	}
	return int8(config.Ordinal(name)) //nolint:gosec // a few
}

func nodeNamed(n int8) string {
	if n < 0 {
		return ""
	}
	return nodeNames[n]
}

func (r reference) process(n int8) cachev1alpha1.RedisProcess {
	return cachev1alpha1.RedisProcess{Name: nodeNames[n], PodUID: podUID(r.pod), Address: address(r.pod), RunID: runID(r.run)}
}

func referenceTo(p cachev1alpha1.RedisProcess) reference {
	return reference{pod: idIn(p.Address), run: idIn(p.RunID)}
}

// object is the shipped form of a record.
func (s savedRecord) object(storage bool) *cachev1alpha1.Redis {
	o := &cachev1alpha1.Redis{}
	o.Name, o.UID = "a", "a"
	o.Spec.Size, o.Spec.Hibernate = ptr.To(int32(s.size)), s.sleep
	o.Spec.Durability = &cachev1alpha1.RedisDurability{MinReplicasToWrite: ptr.To(int32(s.w))}
	if storage {
		o.Spec.Storage = &cachev1alpha1.RedisStorage{}
	}
	if s.bootstrap {
		o.Spec.Bootstrap = &cachev1alpha1.RedisBootstrap{}
	}
	o.Status.Restore = s.restoreStatus()
	o.Status.Epoch, o.Status.Master, o.Status.TargetMaster = int64(s.epoch), nodeNamed(s.master), nodeNamed(s.target)
	o.Status.HolderIdentity, o.Status.DatasetEpoch = operatorName(s.holder), int64(s.dataset)
	if s.changed {
		o.Status.LastFailover = &cachev1alpha1.RedisFailover{From: nodeNamed(s.from), FromPodUID: podUID(s.fromPod), To: nodeNamed(s.to)}
		if s.cutOff > 0 {
			o.Status.LastFailover.Reason, o.Status.LastFailover.Epoch = commonv1.ReasonMasterCutOff, int64(s.cutOff)
		}
		if s.routed {
			o.Status.LastFailover.RoutedAt = &metav1.MicroTime{Time: present}
		}
	}
	if !s.hasReplication {
		return o
	}
	rep := &cachev1alpha1.RedisReplication{Epoch: int64(s.recordEpoch), ReplID: historyName(s.history), FormerReplID: historyName(s.former),
		StartOffset: int64(s.startOffset),
		Master:      s.recordedMaster.process(s.recordedMasterNode), EffectiveMinReplicas: int32(s.effective)}
	for n, member := range s.members {
		if member.pod != 0 {
			rep.SyncSet = append(rep.SyncSet, member.process(int8(n))) //nolint:gosec // a few
		}
	}
	o.Status.Replication = rep
	return o
}

// recordOf is the model's form of an object, with the version that was read.
func recordOf(o *cachev1alpha1.Redis, read savedRecord) savedRecord {
	r := savedRecord{version: read.version, size: read.size, w: read.w, sleep: read.sleep, bootstrap: read.bootstrap,
		holder: idIn(o.Status.HolderIdentity), epoch: int8(o.Status.Epoch), target: nodeOf(o.Status.TargetMaster),
		master: nodeOf(o.Status.Master), from: -1, to: -1} //nolint:gosec // a few
	if last := o.Status.LastFailover; last != nil {
		r.changed, r.from, r.to, r.routed = true, nodeOf(last.From), nodeOf(last.To), last.RoutedAt != nil
		if last.Reason == commonv1.ReasonMasterCutOff {
			r.cutOff = int8(last.Epoch) //nolint:gosec // a few
		}
		if last.FromPodUID != "" {
			r.fromPod = idIn(string(last.FromPodUID))
		}
	}
	r.noteRestore(o.Status.Restore)
	r.dataset = int8(o.Status.DatasetEpoch) //nolint:gosec // a few
	rep := o.Status.Replication
	if rep == nil {
		return r
	}
	r.hasReplication, r.recordEpoch, r.effective = true, int8(rep.Epoch), int8(rep.EffectiveMinReplicas) //nolint:gosec // a few
	r.startOffset = int8(rep.StartOffset)                                                                //nolint:gosec // a few
	if rep.FormerReplID != "" {
		r.former = idIn(rep.FormerReplID)
	}
	r.history, r.recordedMasterNode, r.recordedMaster = idIn(rep.ReplID), nodeOf(rep.Master.Name), referenceTo(rep.Master)
	for _, p := range rep.SyncSet {
		r.members[nodeOf(p.Name)] = referenceTo(p)
	}
	return r
}

func (m modelStamp) stamp() topology.Stamp {
	return topology.Stamp{Epoch: int64(m.epoch), ReplID: historyName(m.history), Standing: m.standing}
}

func modelStampOf(s topology.Stamp) modelStamp {
	l := modelStamp{epoch: int8(s.Epoch), standing: s.Standing} //nolint:gosec // a few
	if s.ReplID != "" {
		l.history = idIn(s.ReplID)
	}
	return l
}
