package children

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/endpointslice"
	"k8s.io/endpointslice/util"
	"k8s.io/utils/ptr"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
)

// Nodes that pods may be on.
const (
	zonedNode   = "zoned"
	unzonedNode = "unzoned"
	goneNode    = "gone"  // no Node has this name
	otherNode   = "other" // of another zone, with other pods
)

// servicePorts says which ports the Service has, and which it had when the former slices were written.
type servicePorts string

const (
	ourPorts     servicePorts = "ours"
	foreignPorts servicePorts = "ours and others' additions"
	stalePorts   servicePorts = "ours, formerly with others' additions"
)

// A masterChange is one case: the Service led to former pods, and now selects pod a-1.
type masterChange struct {
	families  []corev1.IPFamily // of the Service
	addresses []corev1.IPFamily // of the pod
	node      string            // of the pod, or none
	ports     servicePorts
	ready     bool
	zoneLabel bool // the pod has a zone, as Kubernetes copies it from the node since 1.35
	hostname  bool // the pod has a hostname and a subdomain, as the StatefulSet controller sets them
	timed     bool // the former slices have the time of their last change
}

func (m masterChange) String() string {
	return fmt.Sprintf("Service %v, pod %v, node %q, ports %s, ready %t, zone label %t, hostname %t, former time %t",
		m.families, m.addresses, m.node, m.ports, m.ready, m.zoneLabel, m.hostname, m.timed)
}

// masterChanges are the cases. Nodes and zones meet every family, and every two of readiness, hostname and time meet. The Service's ports
// are found without the node, so they vary for one node alone.
func masterChanges() []masterChange {
	v4, v6 := corev1.IPv4Protocol, corev1.IPv6Protocol
	families := [][]corev1.IPFamily{{v4}, {v6}, {v4, v6}, {v6, v4}}
	all := []masterChange{{}, {hostname: true, timed: true}, {ready: true, hostname: true}, {ready: true, timed: true}}
	all = combine(all, families, func(m *masterChange, of []corev1.IPFamily) { m.families = of })
	all = combine(all, families, func(m *masterChange, of []corev1.IPFamily) { m.addresses = of })
	ofOneNode := combine(all, []servicePorts{foreignPorts, stalePorts}, func(m *masterChange, ports servicePorts) {
		m.ports, m.node, m.zoneLabel = ports, zonedNode, true
	})
	all = combine(all, []string{zonedNode, unzonedNode, goneNode, ""}, func(m *masterChange, node string) { m.ports, m.node = ourPorts, node })
	all = combine(all, []bool{false, true}, func(m *masterChange, is bool) { m.zoneLabel = is })
	return append(all, ofOneNode...)
}

// combine gives each case each of the values.
func combine[T any](cases []masterChange, values []T, set func(*masterChange, T)) []masterChange {
	var all []masterChange
	for _, m := range cases {
		for _, value := range values {
			set(&m, value)
			all = append(all, m)
		}
	}
	return all
}

// podsBefore make the pods of the former slices, from pod a-1.
var podsBefore = map[string]func(pod *corev1.Pod) []*corev1.Pod{
	"no pod":                    func(*corev1.Pod) []*corev1.Pod { return nil },
	"a master on another node":  func(*corev1.Pod) []*corev1.Pod { return []*corev1.Pod{anotherPod("a-0", otherNode)} },
	"a master on the same node": func(pod *corev1.Pod) []*corev1.Pod { return []*corev1.Pod{anotherPod("a-0", pod.Spec.NodeName)} },
	"two other pods": func(pod *corev1.Pod) []*corev1.Pod {
		return []*corev1.Pod{anotherPod("a-0", otherNode), anotherPod("a-2", pod.Spec.NodeName)}
	},
	"the new master": func(pod *corev1.Pod) []*corev1.Pod { return []*corev1.Pod{pod} },
	"the new master and two other pods": func(pod *corev1.Pod) []*corev1.Pod {
		return []*corev1.Pod{anotherPod("a-0", otherNode), pod, anotherPod("a-2", pod.Spec.NodeName)}
	},
	"the new master at its former addresses": func(pod *corev1.Pod) []*corev1.Pod {
		pod = pod.DeepCopy()
		for i := range pod.Status.PodIPs {
			pod.Status.PodIPs[i].IP += "9"
		}
		return []*corev1.Pod{pod}
	},
	"a former pod of the same name and addresses": func(pod *corev1.Pod) []*corev1.Pod {
		pod = pod.DeepCopy()
		pod.UID = "former"
		return []*corev1.Pod{pod}
	},
	"a pod that had the same addresses": func(pod *corev1.Pod) []*corev1.Pod {
		another := anotherPod("a-0", otherNode)
		another.Status.PodIPs = pod.Status.PodIPs
		return []*corev1.Pod{another}
	},
}

// TestLeadToWritesWhatKubernetesWrites compares LeadTo with kube-controller-manager's own code, which is given the pod that the Service
// now selects. Both must make the same of the former slices, and then that code must find nothing to write: a second update would cost
// a request for each failover, and could lead clients elsewhere. Where the two are known to differ (ofLeadTo says where and why), one
// update of that slice must follow, and leave what Kubernetes would have written without us.
//
// Names, owners and versions of slices are not compared, since the API server gives or keeps them. Outside of the cases are
//   - a Service to which others give a trafficDistribution: kube-controller-manager derives hints from it, LeadTo drops them, and one
//     update by Kubernetes adds them again;
//   - a pod whose subdomain is the master's Service, which gives its endpoint a hostname: a StatefulSet of ours names the headless one.
func TestLeadToWritesWhatKubernetesWrites(t *testing.T) {
	for name, former := range podsBefore {
		t.Run(name, func(t *testing.T) {
			all, same := masterChanges(), 0
			for _, m := range all {
				if m.check(t, former(m.pod())) {
					same++
				}
				if t.Failed() { // hundreds of cases would repeat it
					return
				}
			}
			t.Logf("%d cases; Kubernetes has nothing to write in %d", len(all), same)
			if same == 0 {
				t.Error("Kubernetes has something to write in each case")
			}
		})
	}
}

// check reports whether Kubernetes has nothing to write after LeadTo.
func (m masterChange) check(t *testing.T, formerPods []*corev1.Pod) bool {
	t.Helper()
	pod, service := m.pod(), m.service(t, "a-1", m.ports == foreignPorts)
	selected := selectedBy(service, anotherPod("a-0", otherNode), pod)
	var formerTime time.Time
	if m.timed {
		formerTime = fixture.Noon
	}
	manager := newControllerManager(t)
	manager.reconcile(t, m.service(t, "a-0", m.ports != ourPorts), formerPods, formerTime)
	former, written := m.byFamily(t, "kube-controller-manager before", manager.slices(t)), manager.slices(t)
	for _, slice := range written {
		before := slice.DeepCopy()
		if changed := LeadTo(slice, pod); changed == equality.Semantic.DeepEqual(before, slice) {
			t.Errorf("%s: LeadTo reports %t and made\n%v\nof\n%v", m, changed, slice, before)
		}
	}
	byUs := m.byFamily(t, "LeadTo", written)
	// It gets no time where no pod has changed. LeadTo writes none.
	manager.reconcile(t, service, selected, time.Time{})
	byKubernetes := m.byFamily(t, "kube-controller-manager", manager.slices(t))
	stillToWrite := []string{}
	for family, kubernetes := range byKubernetes {
		want := m.ofLeadTo(t, former[family], kubernetes)
		if got := contentOf(byUs[family]); !equality.Semantic.DeepEqual(got, want) {
			t.Errorf("%s: LeadTo made the %s slice\n%v\nnot\n%v", m, family, got, want)
		}
		if !equality.Semantic.DeepEqual(want, contentOf(kubernetes)) {
			stillToWrite = append(stillToWrite, "update "+string(family))
		} else if got, want := timeOf(byUs[family]), timeOf(kubernetes); got != want {
			t.Errorf("%s: the time of the last change in LeadTo's %s slice is %q, not %q", m, family, got, want)
		}
	}
	slices.Sort(stillToWrite)

	manager = newControllerManager(t, written...)
	// A time alone, as a pod that has changed gives one, must be no reason to write.
	if writes := manager.reconcile(t, service, selected, fixture.Noon.Add(time.Hour)); !slices.Equal(writes, stillToWrite) {
		t.Errorf("%s: after LeadTo, kube-controller-manager writes %q, not %q", m, writes, stillToWrite)
	}
	for family, slice := range m.byFamily(t, "kube-controller-manager after LeadTo", manager.slices(t)) {
		if got, want := contentOf(slice), contentOf(byKubernetes[family]); !equality.Semantic.DeepEqual(got, want) {
			t.Errorf("%s: after both, the %s slice is\n%v\nnot\n%v", m, family, got, want)
		}
	}
	return len(stillToWrite) == 0
}

// ofLeadTo is what LeadTo must make of a former slice: what Kubernetes makes of it, but for the differences that are known.
func (m masterChange) ofLeadTo(t *testing.T, former, byKubernetes *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	t.Helper()
	want, family := contentOf(byKubernetes), former.AddressType
	if !slices.Contains(m.addresses, corev1.IPFamily(family)) {
		// The pod has no address of this family, so the slice is emptied: former pods are not selected any more, and the one that is
		// selected gives no endpoint. A slice without endpoints has no ports either.
		if len(want.Endpoints) != 0 {
			t.Errorf("%s: kube-controller-manager leaves endpoints in the %s slice: %v", m, family, want.Endpoints)
		}
		if len(want.Ports) != 0 {
			t.Errorf("%s: kube-controller-manager leaves ports in the empty %s slice: %v", m, family, want.Ports)
		}
		return want
	}
	if len(want.Endpoints) != 1 {
		t.Errorf("%s: kube-controller-manager has not one endpoint in the %s slice: %v", m, family, want)
		return want
	}
	wasFirst := equality.Semantic.DeepEqual(former.Endpoints, want.Endpoints) // then LeadTo leaves the slice
	wasEmpty := len(former.Endpoints) == 0
	switch { // LeadTo does not see the Service's ports. It leaves those of a slice, and gives ours to a slice that has none.
	case m.ports == stalePorts && !wasEmpty:
		want.Ports = former.Ports
	case m.ports == foreignPorts && wasEmpty:
		want.Ports = []discoveryv1.EndpointPort{{Name: ptr.To("redis"), Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To[int32](6379)}}
	}
	hasNode := func(e discoveryv1.Endpoint) bool { return e.NodeName != nil && *e.NodeName == m.node }
	switch { // LeadTo does not see the Node. It knows the zone by the pod's label, or by a former endpoint on the node.
	case m.zoneLabel && m.node != zonedNode && !wasFirst: // the Node has lost the zone since it was copied
		want.Endpoints[0].Zone = ptr.To(zoneOfNode(zonedNode))
	case !m.zoneLabel && m.node == zonedNode && !slices.ContainsFunc(former.Endpoints, hasNode):
		want.Endpoints[0].Zone = nil
	}
	return want
}

type slicesByFamily = map[discoveryv1.AddressType]*discoveryv1.EndpointSlice

// byFamily sorts slices by family. The test ends if there is not one for each family of the Service, or if there is another.
func (m masterChange) byFamily(t *testing.T, writer string, all []*discoveryv1.EndpointSlice) slicesByFamily {
	t.Helper()
	found, complete := slicesByFamily{}, true
	for _, slice := range all {
		if !slices.Contains(m.families, corev1.IPFamily(slice.AddressType)) {
			t.Errorf("%s: %s has a slice of a family that the Service has not: %v", m, writer, slice)
			complete = false
		}
		if found[slice.AddressType] != nil {
			t.Errorf("%s: %s has a second slice of the family: %v", m, writer, slice)
			complete = false
		}
		found[slice.AddressType] = slice
	}
	for _, family := range m.families {
		if found[discoveryv1.AddressType(family)] == nil {
			t.Errorf("%s: %s has no slice of family %s", m, writer, family)
			complete = false
		}
	}
	if !complete {
		t.FailNow()
	}
	return found
}

// contentOf is what slices are compared by.
func contentOf(slice *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	content := slice.DeepCopy()
	content.Name, content.GenerateName, content.ResourceVersion, content.OwnerReferences = "", "", "", nil
	delete(content.Annotations, corev1.EndpointsLastChangeTriggerTime)
	return content
}

func timeOf(slice *discoveryv1.EndpointSlice) string {
	return slice.Annotations[corev1.EndpointsLastChangeTriggerTime]
}

// service is the master's, as the API server completes what we apply, while that pod is master.
func (m masterChange) service(t *testing.T, master string, withForeignPorts bool) *corev1.Service {
	t.Helper()
	redis := fixture.Sized(3)
	redis.Status.Master = master
	service := parts.ToApplyConfig[corev1.Service](masterService(Inputs{Redis: redis, Spec: config.Resolve(redis)}))
	if !service.Spec.PublishNotReadyAddresses {
		t.Fatal("the Service waits until its pod is ready")
	}
	service.Namespace, service.UID = "team", "service"
	service.Spec.IPFamilies, service.Spec.ClusterIP = m.families, "198.51.100.1"
	if withForeignPorts {
		service.Spec.Ports[0].AppProtocol = ptr.To("redis")
		service.Spec.Ports = append(service.Spec.Ports,
			corev1.ServicePort{Name: "metrics", Protocol: corev1.ProtocolTCP, Port: 9121, TargetPort: intstr.FromInt32(9121)})
	}
	return service
}

// pod is a-1, the new master.
func (m masterChange) pod() *corev1.Pod {
	// Not the short forms.
	addresses := map[corev1.IPFamily]string{corev1.IPv4Protocol: "::ffff:192.0.2.2", corev1.IPv6Protocol: "2001:DB8:0:0::2"}
	pod := podOf("a-1", m.node)
	for _, family := range m.addresses {
		pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: addresses[family]})
	}
	if !m.ready {
		pod.Status.Conditions[0].Status = corev1.ConditionFalse
	}
	if m.zoneLabel {
		pod.Labels[corev1.LabelTopologyZone] = zoneOfNode(zonedNode)
	}
	if m.hostname {
		pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, config.Resolve(fixture.Sized(3)).HeadlessName()
	}
	return pod
}

// anotherPod is ready, and has an address of each family.
func anotherPod(name, node string) *corev1.Pod {
	pod := podOf(name, node)
	pod.Status.PodIPs = []corev1.PodIP{{IP: "192.0.2.10" + name[2:]}, {IP: "2001:db8::10" + name[2:]}}
	return pod
}

// podTemplate is our StatefulSet's.
var podTemplate = sync.OnceValue(func() *corev1.PodTemplateSpec {
	redis := fixture.Sized(3)
	return parts.ToApplyConfig[corev1.PodTemplateSpec](statefulSet(Inputs{Redis: redis, Spec: config.Resolve(redis)}).Spec.Template)
})

// podOf is a pod of our StatefulSet.
func podOf(name, node string) *corev1.Pod {
	template := podTemplate().DeepCopy()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.Name, pod.UID, pod.Labels[LabelPod] = "team", name, types.UID(name), name
	pod.Spec.NodeName = node
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return pod
}

// selectedBy are the pods that kube-controller-manager finds for a Service.
func selectedBy(service *corev1.Service, pods ...*corev1.Pod) []*corev1.Pod {
	selector := labels.SelectorFromSet(service.Spec.Selector)
	return slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return !selector.Matches(labels.Set(pod.Labels)) })
}

// zoneOfNode is the zone of a Node that has one.
func zoneOfNode(name string) string { return "zone of " + name }

// A controllerManager is the part of kube-controller-manager that writes EndpointSlices, with an API server and Nodes.
type controllerManager struct {
	api        *fake.Clientset
	reconciler *endpointslice.Reconciler
}

// newControllerManager finds these slices.
func newControllerManager(t *testing.T, existing ...*discoveryv1.EndpointSlice) *controllerManager {
	t.Helper()
	nodes := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	for _, name := range []string{zonedNode, otherNode, unzonedNode} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if name != unzonedNode {
			node.Labels = map[string]string{corev1.LabelTopologyZone: zoneOfNode(name)}
		}
		if err := nodes.Add(node); err != nil {
			t.Fatal(err)
		}
	}
	api, named := fake.NewSimpleClientset(), 0
	api.PrependReactor("create", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if slice := action.(clienttesting.CreateAction).GetObject().(*discoveryv1.EndpointSlice); slice.Name == "" {
			named++
			slice.Name = fmt.Sprint(slice.GenerateName, named)
		}
		return false, nil, nil // then it is stored
	})
	for _, slice := range existing {
		if err := api.Tracker().Add(slice); err != nil {
			t.Fatal(err)
		}
	}
	return &controllerManager{api, endpointslice.NewReconciler(api, corelisters.NewNodeLister(nodes), 100, util.NewEndpointSliceTracker(), nil,
		&record.FakeRecorder{}, "endpointslice-controller.k8s.io")}
}

// reconcile returns what was written: the verb and the family of each slice.
func (c *controllerManager) reconcile(t *testing.T, service *corev1.Service, pods []*corev1.Pod, changed time.Time) []string {
	t.Helper()
	existing := c.slices(t)
	c.api.ClearActions()
	if err := c.reconciler.Reconcile(logr.Discard(), service, pods, existing, changed); err != nil {
		t.Fatal(err)
	}
	writes := []string{}
	for _, action := range c.api.Actions() {
		write := action.GetVerb()
		if with, ok := action.(clienttesting.UpdateAction); ok { // creates are as well
			write += " " + string(with.GetObject().(*discoveryv1.EndpointSlice).AddressType)
		}
		writes = append(writes, write)
	}
	slices.Sort(writes)
	return writes
}

// slices are copies of those that the API server has.
func (c *controllerManager) slices(t *testing.T) []*discoveryv1.EndpointSlice {
	t.Helper()
	list, err := c.api.DiscoveryV1().EndpointSlices("team").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all []*discoveryv1.EndpointSlice
	for i := range list.Items {
		all = append(all, list.Items[i].DeepCopy())
	}
	return all
}
