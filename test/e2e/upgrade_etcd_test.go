package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

// savesEndOf is the save that a change of the members has been made.
func savesEndOf(change databasev1alpha1.EtcdChangeType) fault.Write {
	return fault.Saves("etcdclusters", func(before, after *databasev1alpha1.EtcdCluster) bool {
		was, becomes := before.Status.Membership, after.Status.Membership
		return was != nil && was.Change != nil && was.Change.Type == change && becomes != nil && becomes.Change == nil
	})
}

// savesRestore is the save that a backup takes the place of all data.
var savesRestore = fault.Saves("etcdclusters", func(before, after *databasev1alpha1.EtcdCluster) bool {
	return len(after.Status.BegunRestoreUIDs) > len(before.Status.BegunRestoreUIDs)
})

// etcdMoments are when the members of an EtcdCluster change.
var etcdMoments = []TableEntry{
	Entry("a learner is added, and that is not saved", etcdSize(3, 5), savesEndOf(databasev1alpha1.EtcdAdd).Before()),
	Entry("a learner is added, and does not run", etcdSize(3, 5), savesEndOf(databasev1alpha1.EtcdAdd)),
	Entry("a member is removed, and that is not saved", etcdSize(5, 3), savesEndOf(databasev1alpha1.EtcdRemove).Before()),
	Entry("a member is removed, and its pod is not deleted", etcdSize(5, 3), savesEndOf(databasev1alpha1.EtcdRemove)),
	Entry("in a minor upgrade, one member is replaced and two are not", etcdChange{
		from: databasev1alpha1.EtcdClusterSpec{Size: ptr.To[int32](3), Version: "3.6"},
		to:   databasev1alpha1.EtcdClusterSpec{Size: ptr.To[int32](3), Version: "3.7"},
	}, fault.Write{Operation: admissionv1.Create, Resource: "pods/eviction", Others: 1}.Before()),
}

// etcdChange is from one size and version to others.
type etcdChange struct {
	from, to databasev1alpha1.EtcdClusterSpec
}

func etcdSize(from, to int32) etcdChange {
	return etcdChange{from: databasev1alpha1.EtcdClusterSpec{Size: &from}, to: databasev1alpha1.EtcdClusterSpec{Size: &to}}
}

// upgradeEtcd upgrades the operator while the members of an EtcdCluster change.
func upgradeEtcd(ctx SpecContext, change etcdChange, w fault.Write) {
	Expect(cluster.Provide(ctx, "etcd-images", "3.6")).To(Succeed())
	e := builders.EtcdCluster("keys").Size(*change.from.Size).Version(change.from.Version).Storage("128Mi").Build()
	create(ctx, e)
	eventuallyReady(ctx, e)
	keys := puttingBy(ctx, dialEtcd(e, nil))

	upgradeAt(ctx, w, func() {
		edit(ctx, e, func(e *databasev1alpha1.EtcdCluster) { e.Spec.Size, e.Spec.Version = change.to.Size, change.to.Version })
	})
	Eventually(func(g Gomega) {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(e), e)).To(Succeed())
		g.Expect(condition(e, commonv1.ConditionReady)).To(HaveField("Status", metav1.ConditionTrue), "conditions: %+v", e.Status.Conditions)
		g.Expect(e.Status.Membership.Change).To(BeNil())
		g.Expect(e.Status.Membership.Members).To(HaveLen(int(*change.to.Size)))
		g.Expect(e.Status.Members).To(HaveLen(int(*change.to.Size)))
		g.Expect(e.Status.Members).To(HaveEach(And(HaveField("Healthy", true), HaveField("Version", HavePrefix(change.to.Version)),
			HaveField("Role", BeElementOf(databasev1alpha1.EtcdLeader, databasev1alpha1.EtcdVoter)))))
	}).WithContext(ctx).Should(Succeed())
	Eventually(podsOf).WithArguments(ctx, "etcd", e.Name).WithContext(ctx).Should(HaveLen(int(*change.to.Size)))
	keys.continues(ctx)
	keys.hasLostNothing(ctx)
}

// restoreMoments are when an EtcdRestore is under way.
var restoreMoments = []TableEntry{
	Entry("the backup is fetched, and the start of the restore is not saved", savesRestore.Before()),
	Entry("the start of the restore is saved, and the former members run", savesRestore),
}

// upgradeRestore upgrades the operator while a backup takes the place of an EtcdCluster's data.
func upgradeRestore(ctx SpecContext, w fault.Write) {
	claim(ctx, "backups")
	e := builders.EtcdCluster("keys").Storage("128Mi").Build()
	create(ctx, e)
	eventuallyReady(ctx, e)
	etcd := dialEtcd(e, nil)
	kept := puttingUnder(ctx, etcd, "kept-")
	kept.stop()
	from := backedUp(ctx, "once", e.Name, builders.Volume("backups"))
	puttingUnder(ctx, etcd, "replaced-").stop()

	r := etcdRestore("back", e.Name, from)
	upgradeAt(ctx, w, func() { create(ctx, r) })
	eventually(ctx, r, commonv1.ConditionComplete, metav1.ConditionTrue)
	eventuallyReady(ctx, e)
	Expect(e.Status.BegunRestoreUIDs).To(ConsistOf(r.UID))
	Expect(e.Status.LastRestore).To(HaveValue(HaveField("RestoreUID", r.UID)))
	Expect(e.Status.ReadyReplicas).To(BeEquivalentTo(3))
	restored := etcdKeys(ctx, etcd)
	Expect(missing(kept.confirmed(), restored)).To(BeEmpty(), "of what the backup has")
	Expect(restored).NotTo(ContainElement(HavePrefix("replaced-")))
	keys := puttingUnder(ctx, etcd, "later-")
	keys.hasLostNothing(ctx)
}
