package redis

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

const (
	// mostDelay is how many times longer clients of another namespace may wait, in the median.
	mostDelay = 2
	// attackTries of the whole: something else may keep the machine busy during one half.
	attackTries = 3
	// attackPause between two rounds of what the tenant does again and again.
	attackPause = time.Second
)

// tenant may edit one namespace, and attacks the managers with that.
type tenant struct {
	namespace string
	may       client.Client // as the tenant

	pods     []corev1.Pod // the managers'
	restarts map[types.UID]int32
	leader   types.UID

	source  *cachev1alpha1.Redis // of the backup
	stop    func()
	refused int // objects with a costly quantity
	rounds  int
	failed  map[string]int // by what the API server said
}

// newTenant makes a namespace and somebody who may edit it.
func newTenant(ctx context.Context) *tenant {
	GinkgoHelper()
	config, _, err := cluster.Dial()
	Expect(err).NotTo(HaveOccurred())
	t := &tenant{namespace: createNamespace(ctx).Name, failed: map[string]int{}}
	DeferCleanup(t.leave)
	config.Impersonate = rest.ImpersonationConfig{UserName: "tenant-of-" + t.namespace, Groups: []string{"system:authenticated"}}
	t.may, err = client.New(config, client.Options{Scheme: k8s.Scheme(), Mapper: k8s.RESTMapper()})
	Expect(err).NotTo(HaveOccurred())
	Expect(k8s.Create(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "edit"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: config.Impersonate.UserName}}})).To(Succeed())
	Eventually(func() error { return t.may.Create(ctx, t.secret("probe", 1, nil), client.DryRunAll) }).WithContext(ctx).Should(Succeed())
	Expect(t.may.Get(ctx, client.ObjectKey{Namespace: cluster.OperatorNamespace, Name: "any"}, &corev1.Secret{})).
		To(MatchError(apierrors.IsForbidden, "forbidden"), "the tenant may do more than edit")
	return t
}

// leave nothing that the next rows would notice.
func (t *tenant) leave(ctx context.Context) {
	GinkgoHelper()
	if spec := CurrentSpecReport(); spec.Failed() {
		GinkgoWriter.Print(cluster.Diagnose(ctx, t.namespace, spec.StartTime))
	}
	Expect(k8s.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(t.namespace), client.MatchingLabels{attackLabel: "large"})).To(Succeed())
	Expect(discard(ctx, t.namespace)).To(Succeed())
}

// attack starts, and continues until hasHarmedNoManager or the end of the spec.
func (t *tenant) attack(ctx context.Context) {
	GinkgoHelper()
	t.watchManagers(ctx)
	t.storeCostlyQuantity(ctx)
	t.useCostlyKey(ctx)
	t.startHostileBackup(ctx)
	t.fillCaches(ctx)
	t.backUp(ctx)

	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	var attacking sync.WaitGroup
	attacking.Go(func() { t.repeat(run) })
	t.stop = sync.OnceFunc(func() { stop(); attacking.Wait() })
	DeferCleanup(t.stop)
}

// repeat what makes the managers look again.
func (t *tenant) repeat(ctx context.Context) {
	tick := time.NewTicker(attackPause)
	defer tick.Stop()
	for ctx.Err() == nil {
		for _, err := range []error{t.tryCostlyQuantity(ctx), t.touchCostlyQuantity(ctx), t.changeCostlyKey(ctx), t.changeLargeSecret(ctx)} {
			if err != nil && ctx.Err() == nil {
				t.failed[err.Error()]++
			}
		}
		t.rounds++
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// watchManagers notes who runs now, and counts their memory from now on.
func (t *tenant) watchManagers(ctx context.Context) {
	GinkgoHelper()
	var err error
	t.restarts, err = managers(ctx)
	Expect(err).NotTo(HaveOccurred())
	t.leader, err = cluster.LeaderPod(ctx, k8s)
	Expect(err).NotTo(HaveOccurred())
	t.pods, err = cluster.Operators(ctx, k8s)
	Expect(err).NotTo(HaveOccurred())
	for _, pod := range t.pods {
		Expect(fault.ForgetPeaks(pod.UID, cluster.OperatorProgram)).To(Succeed())
	}
}

// withstandTenant measures how long clients of another namespace wait before a tenant attacks the operator, and meanwhile.
func withstandTenant(ctx SpecContext) {
	GinkgoHelper()
	var usual, attacked time.Duration
	for range attackTries {
		before := report(ctx, scaled(usualKill))
		t := newTenant(ctx)
		t.attack(ctx)
		during := report(ctx, scaled(attackedKill))
		t.hasHarmedNoManager(ctx, before, during)
		t.leave(ctx)
		if usual, attacked = before.Median(), during.Median(); attacked <= mostDelay*usual {
			return
		}
	}
	Fail(fmt.Sprintf("%d times in a row clients waited more than %d times longer; at last %s and not %s", attackTries, mostDelay, attacked,
		usual))
}

// hasHarmedNoManager ends the attack, which must have taken place, and reports what it did to clients of another namespace.
func (t *tenant) hasHarmedNoManager(ctx context.Context, before, during *fault.Row) {
	GinkgoHelper()
	t.stop()
	Expect(t.managersRun(ctx)).To(Succeed())
	t.hasAttacked(ctx)
	Expect(t.managersRun(ctx)).To(Succeed())

	var peaks []string
	for _, pod := range t.pods {
		limit := pod.Spec.Containers[0].Resources.Limits.Memory().Value()
		peak, err := fault.Peak(pod.UID, cluster.OperatorProgram)
		Expect(err).NotTo(HaveOccurred())
		peaks = append(peaks, fmt.Sprintf("%d of %d MiB", peak>>20, limit>>20))
		Expect(peak).To(BeNumerically("<", limit))
	}
	AddReportEntry("next to a tenant that attacks the operator", fmt.Sprintf(
		"clients of another namespace wait %s in the median of %d kills, and %s in that of %d without; the managers held at most %s of memory; "+
			"%d rounds of the attack",
		fault.FormatDuration(during.Median()), len(during.Runs), fault.FormatDuration(before.Median()), len(before.Runs),
		strings.Join(peaks, " and "), t.rounds))
}

// managersRun is nil while those from before run, none of them was restarted, and the same one leads.
func (t *tenant) managersRun(ctx context.Context) error {
	now, err := managers(ctx)
	if err != nil {
		return err
	}
	leader, err := cluster.LeaderPod(ctx, k8s)
	if err == nil && (fmt.Sprint(now) != fmt.Sprint(t.restarts) || leader != t.leader) {
		err = fmt.Errorf("restarts of the managers were %v and are %v; the leader was %s and is %s", t.restarts, now, t.leader, leader)
	}
	return err
}

// hasAttacked proves that all parts of the attack took place, and what the operator says of them.
func (t *tenant) hasAttacked(ctx context.Context) {
	GinkgoHelper()
	Expect(t.failed).To(BeEmpty())
	Expect(t.refused).To(BeNumerically(">=", t.rounds))
	Eventually(func(g Gomega) {
		g.Expect(t.condition(ctx, "EasyService", "stored", commonv1.ConditionDegraded)).To(And(
			HaveField("Reason", commonv1.ReasonInvalidSpec), HaveField("Message", HavePrefix("resources: limits.cpu: "))))
		for kind, name := range costlyKeyUsers {
			g.Expect(t.condition(ctx, kind, name, commonv1.ConditionCertificatesInSync)).To(And(
				HaveField("Reason", commonv1.ReasonSecretUnusable), HaveField("Message", ContainSubstring("tls.key"))), kind)
		}
		g.Expect(t.condition(ctx, "RedisBackup", "nightly", commonv1.ConditionComplete)).To(HaveField("Status", metav1.ConditionTrue))
	}).WithContext(ctx).Should(Succeed())
	Expect(t.largeNames(ctx)).To(HaveLen(2*largeSecrets/3),
		"only those that say the tenant's Redis controls them are the operator's to delete")
}

// largeNames are those of the large Secrets that do not say they are controlled.
func (t *tenant) largeNames(ctx context.Context) (names []string) {
	GinkgoHelper()
	var large metav1.PartialObjectMetadataList
	large.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	Expect(k8s.List(ctx, &large, client.InNamespace(t.namespace), client.MatchingLabels{attackLabel: "large"})).To(Succeed())
	for i := range large.Items {
		if metav1.GetControllerOf(&large.Items[i]) == nil {
			names = append(names, large.Items[i].Name)
		}
	}
	return names
}

// condition of an object of the tenant's.
func (t *tenant) condition(ctx context.Context, kind, name, of string) metav1.Condition {
	obj, err := readConditions(ctx, kind, client.ObjectKey{Namespace: t.namespace, Name: name})
	if found := meta.FindStatusCondition(obj, of); err == nil && found != nil {
		return *found
	}
	return metav1.Condition{Message: fmt.Sprintf("no condition %s of %s %s yet: %v, %v", of, kind, name, obj, err)}
}
