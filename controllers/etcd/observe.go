package etcd

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/children"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// observe joins what the record and the API server say of the members, by ordinal, with what they say of backups.
func (o *object) observe(ctx context.Context) membership.World {
	var w membership.World
	byName := map[string]*membership.Member{}
	member := func(name string) *membership.Member {
		if byName[name] == nil {
			byName[name] = &membership.Member{Name: name}
		}
		return byName[name]
	}
	if record := o.cluster.Status.Membership; record != nil {
		for i := range record.Members {
			member(record.Members[i].Name).Record = &record.Members[i]
		}
		if record.Change != nil {
			member(record.Change.Name) // etcd may list it already
		}
	} else {
		w.FormerPods = o.in.formerPods
	}
	w.Claims = o.claimsIn(o.in.claims)
	never := o.provenNeverRan(ctx)
	for i := range o.in.pods {
		pod := o.podOf(&o.in.pods[i])
		pod.NeverRan = never[pod.UID]
		member(o.in.pods[i].Name).Pod = pod
	}
	for _, m := range byName {
		w.Members = append(w.Members, *m)
	}
	w.SortMembers()
	o.observeRestores(&w)
	w.Backups = o.backupsOf(o.in.backups)
	return w
}

// podOf is what the plan needs to know of a member's pod and its volume.
func (o *object) podOf(pod *corev1.Pod) membership.Pod {
	p := children.ReadPod(pod, o.in.set)
	p.Deleting = p.Deleting || o.known.deleted.has(pod.UID, o.clock.Now())
	if claim := o.in.claims[pod.Name]; claim != nil {
		p.ClaimUID, p.ClaimGoes = claim.UID, !claim.DeletionTimestamp.IsZero()
		p.DiskSize = parts.Bytes(*claim.Status.Capacity.Storage())
	} else if o.cluster.Spec.Storage == nil {
		p.DiskSize = children.DiskOfPod(pod)
	}
	return p
}

// observeRestores finds which EtcdRestore may start, and what the pods of backups are for.
func (o *object) observeRestores(w *membership.World) {
	current := membership.Situation{Spec: o.spec, Status: &o.cluster.Status}.Source()
	w.Request = membership.NextRequest(&o.cluster.Status, o.in.requests, o.clock.Now())
	for i := range o.in.fetches {
		w.AssignFetch(o.fetchOf(&o.in.fetches[i]), current)
	}
}

// fetchOf is what the plan needs to know of the pod of a backup.
func (o *object) fetchOf(pod *corev1.Pod) membership.Fetch {
	f := children.ReadFetch(pod)
	f.Deleting = f.Deleting || o.known.deleted.has(pod.UID, o.clock.Now())
	return f
}
