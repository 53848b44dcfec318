package bench

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/bench/figures"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

// tokenSeconds is how long the account's token is valid: longer than a long report takes.
const tokenSeconds = 48 * 60 * 60

// account is that of the null operator, a service account as the operator's, so that its requests are authenticated in the same way.
type account struct {
	namespace, token string
	binding          *rbacv1.ClusterRoleBinding
	// workers that the operator has for one namespace, by kind.
	workers map[string]int
}

// newAccount makes one that may do everything, also read the managers' metrics.
func (b *bench) newAccount(ctx context.Context, namespace string) (account, error) {
	a := account{namespace: namespace, workers: map[string]int{}, binding: &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "null"}}}}
	owner := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "null"}}
	if err := b.k8s.Create(ctx, owner); err != nil {
		return a, err
	}
	if err := b.k8s.Create(ctx, a.binding); err != nil {
		return a, err
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](tokenSeconds)}}
	if err := b.k8s.SubResource("token").Create(ctx, owner, request); err != nil {
		return a, err
	}
	a.token = request.Status.Token
	return a, b.readWorkers(ctx, a)
}

// user is who the account is to the API server.
func (a account) user() string { return "system:serviceaccount:" + a.namespace + ":null" }

func (a account) remove(ctx context.Context, c client.Client) error {
	return client.IgnoreNotFound(c.Delete(ctx, a.binding))
}

// client returns one of the account's.
func (a account) client(of *rest.Config, scheme *runtime.Scheme) (*rest.Config, client.Client, error) {
	config := rest.AnonymousClientConfig(of)
	config.BearerToken, config.QPS, config.WarningHandler = a.token, of.QPS, of.WarningHandler
	c, err := client.New(config, client.Options{Scheme: scheme})
	return config, c, err
}

// readWorkers fills in how many workers the objects of one namespace have: half of all, as fairQueue gives them.
func (b *bench) readWorkers(ctx context.Context, a account) error {
	managers, err := b.managers(ctx)
	if err != nil {
		return err
	}
	leader := slices.IndexFunc(managers, func(m manager) bool { return m.leads }) // controllers of the standby have not started
	return poll(ctx, timeout, func(ctx context.Context) error {                   // the API server may not know the account's right yet
		served, err := a.metrics(ctx, managers[leader].address)
		if err != nil {
			return err
		}
		for _, k := range kinds {
			all, err := served.Value(k.controller, "controller_runtime_max_concurrent_reconciles")
			if err != nil {
				return err
			}
			a.workers[k.name] = int(all) / 2
		}
		return nil
	})
}

// manager is one of the operator's processes.
type manager struct {
	pod     types.UID
	address string
	pid     int
	leads   bool
}

// managers are those that run now, on this node.
func (b *bench) managers(ctx context.Context) ([]manager, error) {
	pods, err := cluster.Operators(ctx, b.k8s)
	if err != nil {
		return nil, err
	}
	leader, err := cluster.LeaderPod(ctx, b.k8s)
	if err != nil {
		return nil, err
	}
	var all []manager
	for _, pod := range pods {
		pids, err := fault.Processes(pod.UID, cluster.OperatorProgram)
		if err != nil {
			return nil, err
		}
		if len(pids) != 1 {
			return nil, fmt.Errorf("pod %s has %d processes", pod.Name, len(pids))
		}
		all = append(all, manager{pod: pod.UID, address: pod.Status.PodIP, pid: pids[0], leads: pod.UID == leader})
	}
	return all, nil
}

// memory is that of one manager, after it has collected its garbage.
type memory struct{ heap, resident int64 }

func (b *bench) memory(ctx context.Context, managers []manager) ([]memory, error) {
	var all []memory
	for _, m := range managers {
		heap, err := b.liveHeap(ctx, m)
		if err != nil {
			return nil, fmt.Errorf("reading the heap of a manager: %w", err)
		}
		resident, err := fault.Resident(m.pod, cluster.OperatorProgram)
		if err != nil {
			return nil, err
		}
		all = append(all, memory{int64(heap), resident})
	}
	return all, nil
}

// report by how much the managers' memory has grown, and how long the longest pass over an object of the kind was so far.
func (b *bench) report(ctx context.Context, k kind, managers []manager, before, after []memory) ([]figures.Manager, error) {
	var all []figures.Manager
	for i, m := range managers {
		reported := figures.Manager{Leads: m.leads, Heap: after[i].heap - before[i].heap, RSS: after[i].resident - before[i].resident}
		if m.leads {
			served, err := b.account.metrics(ctx, m.address)
			if err != nil {
				return nil, err
			}
			if reported.LongestPass, err = served.Longest(k.controller); err != nil {
				return nil, err
			}
		}
		all = append(all, reported)
	}
	return all, nil
}

// liveHeap returns what the second collection from now on found alive; the first may be under way already. Each reading of the metrics
// makes garbage, so these collections come soon.
func (b *bench) liveHeap(ctx context.Context, m manager) (live float64, err error) {
	first := -1.0
	err = poll(ctx, timeout, func(ctx context.Context) error {
		served, err := b.account.metrics(ctx, m.address)
		if err != nil {
			return err
		}
		cycles, err := served.Value("", "go_gc_cycles_total_gc_cycles_total")
		if err != nil {
			return err
		}
		if first < 0 {
			first = cycles
		}
		if cycles < first+2 {
			return fmt.Errorf("%.0f collections so far", cycles-first)
		}
		live, err = served.Value("", "go_gc_heap_live_bytes")
		return err
	})
	return live, err
}

// scraper reads metrics. A manager signs its certificate itself.
var scraper = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // see above

// metrics of a manager.
func (a account) metrics(ctx context.Context, address string) (figures.Metrics, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+net.JoinHostPort(address, "8443")+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+a.token)
	reply, err := scraper.Do(request)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close() //nolint:errcheck // it is only read
	if reply.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the metrics of %s: %s", address, reply.Status)
	}
	return figures.ReadMetrics(reply.Body)
}

// rateLimits are those of the cluster's kube-controller-manager and kube-scheduler.
func rateLimits() (string, error) {
	var arguments [][]string
	for _, process := range []func() (int, error){cluster.ControllerManager, cluster.Scheduler} {
		pid, err := process()
		if err != nil {
			return "", err
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			return "", err
		}
		arguments = append(arguments, strings.Split(string(text), "\x00"))
	}
	return figures.RateLimits(arguments[0], arguments[1]), nil
}
