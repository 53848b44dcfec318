package children

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

func childNames(r *cachev1alpha1.Redis) []string {
	var list []string
	for _, child := range Desired(Inputs{Redis: r, Spec: config.Resolve(r), Credentials: fixture.Passwords}) {
		list = append(list, *child.GetKind()+"/"+*child.GetName())
	}
	slices.Sort(list)
	return list
}

func TestDesired(t *testing.T) {
	for _, c := range []struct {
		reason string
		redis  *cachev1alpha1.Redis
		more   []string
	}{
		{"no route before there is a master", fixture.Sized(3), []string{"PodDisruptionBudget/a"}},
		{"there is a route once there is a master", withMaster(fixture.Sized(3), "a-1"), []string{"PodDisruptionBudget/a", "Service/a"}},
		{"one node may go at any time", withMaster(fixture.Sized(1), "a-0"), []string{"Service/a"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			want := append([]string{"Secret/a-auth", "Secret/a-backup", "Secret/a-files", "Secret/a-system", "Service/a-headless",
				"Service/a-replicas", "StatefulSet/a"}, c.more...)
			slices.Sort(want)
			if got := childNames(c.redis); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestRouteIsOnePod(t *testing.T) {
	r := withMaster(fixture.Sized(3), "a-1")
	r.Status.TargetMaster = "a-2" // which is becoming master
	selector := masterService(Inputs{Redis: r, Spec: config.Resolve(r)}).Spec.Selector
	if selector[LabelPod] != "a-1" || len(selector) != 3 {
		t.Errorf("got %v", selector)
	}
}

func TestServicesAreExposedAsAsked(t *testing.T) {
	r := withMaster(fixture.Sized(3), "a-1")
	if s := masterService(Inputs{Redis: r, Spec: config.Resolve(r)}); *s.Spec.Type != corev1.ServiceTypeClusterIP || len(s.Annotations) != 0 {
		t.Errorf("by default: %s %v", *s.Spec.Type, s.Annotations)
	}
	r.Spec.Service = cachev1alpha1.RedisService{Type: corev1.ServiceTypeLoadBalancer, Annotations: map[string]string{"pool": "blue"}}
	for _, s := range []*corev1ac.ServiceApplyConfiguration{masterService(Inputs{Redis: r, Spec: config.Resolve(r)}),
		replicasService(Inputs{Redis: r, Spec: config.Resolve(r)})} {
		if *s.Spec.Type != corev1.ServiceTypeLoadBalancer || s.Annotations["pool"] != "blue" {
			t.Errorf("%s: %s %v", *s.Name, *s.Spec.Type, s.Annotations)
		}
	}
	if s := headlessService(Inputs{Redis: r, Spec: config.Resolve(r)}); s.Spec.Type != nil {
		t.Error("no client connects by the nodes' names")
	}
}

func TestNodes(t *testing.T) {
	set := func(change func(*cachev1alpha1.Redis)) *appsv1ac.StatefulSetApplyConfiguration {
		r := fixture.Sized(3)
		change(r)
		return statefulSet(Inputs{Redis: r, Spec: config.Resolve(r), Credentials: fixture.Passwords, Image: "redis:x",
			Replicas: config.Resolve(r).Size, VolumeSize: resource.MustParse("1Gi")})
	}
	container := func(s *appsv1ac.StatefulSetApplyConfiguration) corev1ac.ContainerApplyConfiguration {
		return s.Spec.Template.Spec.Containers[0]
	}
	for _, c := range []struct {
		reason string
		change func(*cachev1alpha1.Redis)
		holds  func(*appsv1ac.StatefulSetApplyConfiguration) bool
	}{
		{"only the plan restarts a pod", func(*cachev1alpha1.Redis) {}, func(s *appsv1ac.StatefulSetApplyConfiguration) bool {
			return *s.Spec.UpdateStrategy.Type == "OnDelete" && *s.Spec.PodManagementPolicy == "Parallel"
		}},
		{"a pod is ready when its data is there", func(*cachev1alpha1.Redis) {}, func(s *appsv1ac.StatefulSetApplyConfiguration) bool {
			return *s.Spec.Template.Spec.ReadinessGates[0].ConditionType == topology.GateInSync
		}},
		{"no password in environment or arguments", func(*cachev1alpha1.Redis) {}, func(s *appsv1ac.StatefulSetApplyConfiguration) bool {
			text, _ := json.Marshal(s)
			return !strings.Contains(string(text), fixture.Passwords.Published.Password) && container(s).Env == nil
		}},
		{"without storage the data goes with the pod", func(*cachev1alpha1.Redis) {}, func(s *appsv1ac.StatefulSetApplyConfiguration) bool {
			return s.Spec.VolumeClaimTemplates == nil && len(s.Spec.Template.Spec.Volumes) == 2
		}},
		{"with storage it stays", func(r *cachev1alpha1.Redis) { r.Spec.Storage = &cachev1alpha1.RedisStorage{} },
			func(s *appsv1ac.StatefulSetApplyConfiguration) bool {
				return len(s.Spec.VolumeClaimTemplates) == 1 && len(s.Spec.Template.Spec.Volumes) == 1 &&
					*s.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted == "Retain"
			}},
		{"the handover ends before the grace does", func(r *cachev1alpha1.Redis) { r.Spec.TerminationGracePeriodSeconds = ptr.To[int64](20) },
			func(s *appsv1ac.StatefulSetApplyConfiguration) bool {
				return strings.HasPrefix(container(s).Lifecycle.PreStop.Exec.Command[2], "n=40;")
			}},
		{"TLS brings certificates, and a socket for the probes",
			func(r *cachev1alpha1.Redis) { r.Spec.TLS = &cachev1alpha1.RedisTLS{SecretName: "chosen"} },
			func(s *appsv1ac.StatefulSetApplyConfiguration) bool {
				text, _ := json.Marshal(s.Spec.Template.Spec)
				return len(s.Spec.Template.Spec.Volumes) == 4 && *s.Spec.Template.Spec.Volumes[1].Secret.SecretName == "a-certificates" &&
					len(container(s).VolumeMounts) == 4 && strings.Count(string(text), "redis-cli -s "+config.SocketPath) == 2
			}},
		{"Valkey has programs of its own", func(r *cachev1alpha1.Redis) { r.Spec.Flavor = cachev1alpha1.FlavorValkey },
			func(s *appsv1ac.StatefulSetApplyConfiguration) bool {
				text, _ := json.Marshal(s.Spec.Template.Spec)
				return container(s).Command[0] == "valkey-server" && strings.Count(string(text), "valkey-cli") == 2 &&
					!strings.Contains(string(text), "redis-cli")
			}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if s := set(c.change); !c.holds(s) {
				text, _ := json.MarshalIndent(s, "", " ")
				t.Errorf("got %s", text)
			}
		})
	}
}

func withMaster(r *cachev1alpha1.Redis, name string) *cachev1alpha1.Redis {
	r.Status.Master = name
	return r
}

// A certificate is renewed every few weeks: that must not restart a server. Nor
// is it to be found anywhere but in Secrets.
func TestOnlySecretsKnowTheCertificate(t *testing.T) {
	by := authority.New("one")
	first, second := fixture.IdentityOf(fixture.Issue(by)), fixture.IdentityOf(fixture.Issue(by))
	others := func(i config.Identity) string {
		var all strings.Builder
		for _, child := range Desired(Inputs{Redis: withMaster(fixture.Secured(""), "a-0"), Spec: config.Resolve(fixture.Secured("")),
			Credentials: fixture.Passwords, Image: "redis:x", Identity: i}) {
			if *child.GetKind() != "Secret" || *child.GetName() == "a-files" {
				text, _ := json.Marshal(child)
				all.Write(text)
			}
		}
		return all.String()
	}
	if others(first) != others(second) {
		t.Error("a renewed certificate changes more than the Secrets that bring it")
	}
	if text := others(first); strings.Contains(text, first.ContentHash()) || strings.Contains(text, "BEGIN") {
		t.Errorf("it is in the open: %s", text)
	}
}

func TestBinding(t *testing.T) {
	i := fixture.IdentityOf(fixture.Issue(authority.New("one")))
	plain := bindingSecret(Inputs{Redis: withMaster(fixture.Sized(3), "a-0"), Spec: config.Resolve(fixture.Sized(3)),
		Credentials: fixture.Passwords, Identity: config.Identity{}}).Data
	if string(plain["uri"]) != "redis://default:app-secret@a..svc:6379" || plain["ssl"] != nil || plain["ca.crt"] != nil {
		t.Errorf("in the clear: %s", plain)
	}
	over := bindingSecret(Inputs{Redis: fixture.Secured(""), Spec: config.Resolve(fixture.Secured("")), Credentials: fixture.Passwords,
		Identity: i}).Data
	if string(over["uri"]) != "rediss://default:app-secret@a.ns.svc:6379" || string(over["ssl"]) != "true" ||
		string(over["ca.crt"]) != string(i.Authorities) {
		t.Errorf("over TLS: %s", over)
	}
	if len(over) != len(plain)+2 {
		t.Errorf("want no more than that, got %d keys", len(over))
	}
}

// The StatefulSet may be scaled or deleted by a user: no claim is deleted then, whatever is asked for.
func TestNoStatefulSetDeletesData(t *testing.T) {
	for _, retention := range []cachev1alpha1.RedisRetention{cachev1alpha1.RedisRetain, cachev1alpha1.RedisDelete} {
		for _, hibernate := range []bool{false, true} {
			r := fixture.Sized(3)
			r.Spec.Hibernate, r.Spec.Storage = hibernate, &cachev1alpha1.RedisStorage{Retention: retention}
			got := statefulSet(Inputs{Redis: r, Spec: config.Resolve(r)}).Spec.PersistentVolumeClaimRetentionPolicy
			if *got.WhenDeleted != appsv1.RetainPersistentVolumeClaimRetentionPolicyType ||
				*got.WhenScaled != appsv1.RetainPersistentVolumeClaimRetentionPolicyType {
				t.Errorf("%s, hibernate: %t: %+v", retention, hibernate, got)
			}
		}
	}
}
