package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

// createsPod is the start of an attempt.
var createsPod = fault.Write{Operation: admissionv1.Create, Resource: "pods"}

// activityMoments are when an Activity's command is about to run.
var activityMoments = []TableEntry{
	Entry("its attempt is saved, and its pod is not created", createsPod.Before()),
	Entry("its pod is created, and the operator has not heard of it", createsPod),
}

// upgradeActivity upgrades the operator while a command is about to run.
func upgradeActivity(ctx SpecContext, w fault.Write) {
	watcher := newWitness(ctx)
	a := watcher.watching("run", "true").Build()
	upgradeAt(ctx, w, func() { create(ctx, a) })
	eventuallyRanOnce(ctx, watcher, a)
}

// upgradeWhileCommandRuns upgrades the operator while a command runs, which ends afterwards.
func upgradeWhileCommandRuns(ctx SpecContext) {
	watcher := newWitness(ctx)
	a := watcher.watching("run", "until [ -e end ]; do sleep 1; done").Build()
	create(ctx, a)
	Eventually(prosta).WithArguments(ctx, a).WithContext(ctx).Should(Equal(egov1.Running))
	upgradeNow(ctx)
	Expect(prosta(ctx, a)).To(Equal(egov1.Running))
	create(ctx, builders.Activity("ends", "touch end").With(func(s *egov1.ActivitySpec) { s.Workspace.ClaimName = watcher.claim }).Build())
	eventuallyRanOnce(ctx, watcher, a)
}

// eventuallyRanOnce waits for the end of an Activity whose command has run once.
func eventuallyRanOnce(ctx context.Context, w witness, a *egov1.Activity) {
	GinkgoHelper()
	eventually(ctx, a, commonv1.ConditionComplete, metav1.ConditionTrue)
	Expect(a.Status.Prosta).To(Equal(egov1.Succeeded), "%+v", a.Status)
	Expect(a.Status.Attempts).To(HaveLen(1))
	Expect(w.says(ctx)).To(ConsistOf(a.Status.Attempts[0].PodName))
}

// upgradeWhileUploading upgrades the operator while the second part of a backup is in the store, and the upload is not completed.
func upgradeWhileUploading(ctx SpecContext) {
	b := startS3(ctx, false)
	g := openGate(b)
	e := builders.EtcdCluster("source").Size(1).Build()
	create(ctx, e)
	eventuallyReady(ctx, e)
	fillEtcd(ctx, dialEtcd(e, nil), twoParts)
	upload := g.hold("once", whileUploading)
	made := etcdBackup("once", e.Name, commonv1.BackupOptions{Store: g.store})
	create(ctx, made)
	upload.waits(ctx)

	upgradeNow(ctx)
	upload.pass()
	eventually(ctx, made, commonv1.ConditionComplete, metav1.ConditionTrue)
	Expect(made.Status.Run.Attempt).To(BeEquivalentTo(1), "the runner was not waited for")
	Expect(b.names(ctx)).To(Equal(objectsOfAll("etcd", made)))
	Expect(b.unfinished(ctx)).To(BeEmpty())
}
