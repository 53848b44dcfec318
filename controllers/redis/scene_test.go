package redis

import (
	"slices"
	"strconv"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const history, nextHistory = "history-1", "history-2"

var microNow = metav1.NowMicro()

// scene is a Redis and its world, healthy unless a case breaks it: a-0 is
// master, the others are in sync.
type scene struct {
	*cachev1alpha1.Redis
	world
}

func (s *scene) situation() situation { return situation{resolve(s.Redis), &s.Status, s.world} }

func healthy(size int32) *scene {
	s := &scene{Redis: &cachev1alpha1.Redis{}}
	s.Name, s.Spec.Size = "a", ptr.To(size)
	s.sinceRouted = time.Hour
	for n := range size {
		s.members = append(s.members, running(n))
	}
	s.members[0].Master, s.members[0].MasterHost, s.members[0].LinkUp = true, "", false
	s.Status.Master, s.Status.TargetMaster, s.Status.Epoch = "a-0", "a-0", 7
	rep := &cachev1alpha1.RedisReplication{
		Epoch: 7, ReplID: history, Master: s.members[0].process(), EffectiveMinReplicas: min(1, size-1)}
	s.members[0].MinReplicas = rep.EffectiveMinReplicas
	for _, m := range s.members[1:] {
		rep.SyncSet = append(rep.SyncSet, m.process())
		s.members[0].Attached = append(s.members[0].Attached, m.address)
	}
	s.Status.Replication = rep
	return applied(s)
}

// applied is true of a set whose servers run with what the spec says.
func applied(s *scene) *scene {
	s.settings = settings{Live: resolve(s.Redis).liveDirectives(0)}
	for i := range s.members {
		s.members[i].AOF, s.members[i].Rewritten, s.members[i].configMark = resolve(s.Redis).usesAppendOnly(), true, resolve(s.Redis).restartMark(s.settings)
	}
	return s
}

func running(n int32) member {
	name := "a-" + strconv.Itoa(int(n))
	return member{name: name, podUID: types.UID("uid-" + name), address: "10.0.0." + strconv.Itoa(int(n)), sentCommands: sentCommands{othersKilled: true, loginSent: true}, View: wire.View{
		Answer: wire.Reached, RunID: "run-" + name, MasterHost: "10.0.0.0", LinkUp: true, ReplID: history, Offset: 100, Keys: 5, Pinned: true, ServesStale: true}}
}

// fresh is a server that has just started: fenced, of no history.
func fresh(m *member) {
	m.View = wire.View{Answer: wire.Reached, RunID: m.RunID + "'", MasterHost: wire.FenceHost, ReplID: "random-" + m.name}
}

func frozen(m *member, offset int64) {
	m.MasterHost, m.LinkUp, m.Offset = wire.FenceHost, false, offset
}

func refused(m *member) { m.View = wire.View{Answer: wire.Refused} }

func authFailed(m *member) { m.View = wire.View{Answer: wire.AuthFailed} }

func makeSilent(m *member) { m.View = wire.View{Answer: wire.Silent} }

// orphan makes the recorded master a ghost: its pod object is gone.
func orphan(s *scene) *member {
	ghost := s.members[0]
	s.members = s.members[1:]
	s.ghost = &ghost
	return s.ghost
}

func linksDown(s *scene) {
	for i := range s.members {
		s.members[i].LinkUp = false
	}
}

func freezeAll(s *scene, offsets ...int64) {
	for i, offset := range offsets {
		frozen(&s.members[i+1], offset)
	}
}

func restartAll(s *scene) {
	for i := range s.members {
		fresh(&s.members[i])
	}
}

func silentAll(s *scene) {
	for i := range s.members {
		makeSilent(&s.members[i])
	}
}

func detach(s *scene, n int) {
	address := s.members[n].address
	s.members[0].Attached = slices.DeleteFunc(s.members[0].Attached, func(a string) bool { return a == address })
}

func forgetMember(s *scene, name string) {
	set := s.Status.Replication.SyncSet
	s.Status.Replication.SyncSet = slices.DeleteFunc(set, func(p cachev1alpha1.RedisProcess) bool { return p.Name == name })
}

func outdated(which ...int) func(*scene) {
	return func(s *scene) {
		for _, n := range which {
			s.members[n].outdated = true
		}
	}
}

// masterIs swaps the roles of a-0 and another.
func masterIs(s *scene, n int) {
	master, replica := &s.members[0], &s.members[n]
	old := master.process()
	master.View, replica.View = replica.View, master.View
	master.RunID, replica.RunID = replica.RunID, master.RunID
	replica.Attached = nil
	rep := s.Status.Replication
	rep.Master = replica.process()
	forgetMember(s, replica.name)
	rep.SyncSet = append(rep.SyncSet, old)
	for i := range s.members {
		if i != n {
			s.members[i].MasterHost = replica.address
			replica.Attached = append(replica.Attached, s.members[i].address)
		}
	}
	s.Status.Master, s.Status.TargetMaster = replica.name, replica.name
}

// withVolumes gives the nodes volumes, each as a healthy epoch 7 leaves it.
func withVolumes(s *scene) *scene {
	s.Spec.Storage = &cachev1alpha1.RedisStorage{}
	s.volumes = map[string]volume{}
	for _, m := range s.members {
		setStamp(s, m.name, 7, synced)
	}
	setStamp(s, "a-0", 7, leading)
	return applied(s)
}

func setStamp(s *scene, name string, epoch int64, is standing) {
	s.volumes[name] = volume{stamp: stamp{epoch: epoch, replID: history, standing: is}}
}

func storageOf(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
}

// growing is a healthy set of 2 whose storage.size was 1Gi and is 2Gi.
func growing() *scene {
	s := withVolumes(healthy(2))
	s.Spec.Storage.Size = resource.MustParse("2Gi")
	for name := range s.volumes {
		claims(s, name, "1Gi", "1Gi")
	}
	return s
}

func claims(s *scene, name, asked, has string) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{}
	claim.Name = "data-" + name
	claim.Spec.Resources.Requests = storageOf(asked)
	claim.Status.Phase, claim.Status.Capacity = corev1.ClaimBound, storageOf(has)
	s.volumes[name] = volume{stamp: s.volumes[name].stamp, claim: claim}
	return claim
}

// encrypted is a healthy scene in which all nodes use the certificate of that file.
func encrypted(file string) *scene {
	s := healthy(3)
	s.Spec.TLS = &cachev1alpha1.RedisTLS{SecretName: "chosen"}
	s.certificateFile = file
	for i := range s.members {
		s.members[i].Certificate = s.certificateFile
	}
	return s
}
