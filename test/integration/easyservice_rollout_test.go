package integration

import (
	"context"
	"net/http"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

var _ = Describe("EasyService:", func() {
	template := func(ctx context.Context, e *appv1.EasyService) corev1.PodTemplateSpec {
		GinkgoHelper()
		var d appsv1.Deployment
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(e), &d)).To(Succeed())
		return d.Spec.Template
	}
	ready := func(ctx context.Context, e *appv1.EasyService) {
		GinkgoHelper()
		Eventually(checkCondition).WithArguments(ctx, e, commonv1.ConditionReady, metav1.ConditionTrue).Should(Succeed())
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(e), e)).To(Succeed())
	}

	Describe("a release that cannot start", func() {
		careful := func() *builders.EasyServiceBuilder {
			return builders.EasyService("a").Image("example.org/app:1").With(func(s *appv1.EasyServiceSpec) {
				s.Strategy = &appv1.Strategy{OnFailure: appv1.Rollback}
			})
		}
		release := func(ctx context.Context, e *appv1.EasyService, image string) {
			GinkgoHelper()
			update(ctx, e, func(o client.Object) { o.(*appv1.EasyService).Spec.Image = image })
		}
		rolledBack := func(ctx context.Context, e *appv1.EasyService, good corev1.PodTemplateSpec) {
			GinkgoHelper()
			Eventually(checkCondition).WithArguments(ctx, e, commonv1.ConditionReady, metav1.ConditionFalse,
				commonv1.ReasonRolledBack).Should(Succeed())
			Eventually(checkCondition).WithArguments(ctx, e, commonv1.ConditionAvailable, metav1.ConditionTrue).Should(Succeed())
			Expect(template(ctx, e)).To(Equal(good), "byte for byte, or its ReplicaSet would be another")
			Expect(checkCondition(ctx, e, commonv1.ConditionDegraded, metav1.ConditionTrue, commonv1.ReasonRolledBack)).To(Succeed())
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(e), e)).To(Succeed())
			Expect(e.Status.LastRollout.Message).To(And(ContainSubstring("example.org/app"+broken), ContainSubstring("not found")))
			Expect(e.Spec.Image).To(HaveSuffix(broken), "the spec is the user's")
		}

		It("is rolled back by itself, and a better one heals", func(ctx SpecContext) {
			e, o := operated(ctx, careful())
			ready(ctx, e)
			good := template(ctx, e)
			release(ctx, e, "example.org/app"+broken)
			rolledBack(ctx, e, good)
			waitForRest(o)

			By("scaling what runs")
			update(ctx, e, func(o client.Object) { o.(*appv1.EasyService).Spec.Size = ptr.To[int32](3) })
			rolledBack(ctx, e, good)
			Eventually(func() int32 {
				_ = admin.Get(ctx, client.ObjectKeyFromObject(e),
					e)
				return e.Status.ReadyReplicas
			}).Should(BeEquivalentTo(3))

			By("restarting the operator")
			o.stop()
			before := passes(kind{name: "EasyService"})
			o = operate(e.Namespace)
			Eventually(passes).WithArguments(kind{name: "EasyService"}).Should(BeNumerically(">", before))
			Consistently(o.Calls).WithArguments(work).Should(BeEmpty())

			release(ctx, e, "example.org/app:3")
			ready(ctx, e)
			Expect(template(ctx, e).Spec.Containers[0].Image).To(Equal("example.org/app:3"))
			Expect(e.Status.LastRollout.Result).To(Equal(appv1.RolloutCompleted))
		})

		It("that moves a targetPort keeps the old pods reached, before and after it is rolled back", func(ctx SpecContext) {
			moved := func(name string, target int32) []appv1.Port {
				return []appv1.Port{{Name: name, Port: 80, TargetPort: ptr.To(intstr.FromInt32(target))}}
			}
			e, o := operated(ctx, careful().Ports(moved("http",
				8080)...).With(func(s *appv1.EasyServiceSpec) { s.NetworkPolicy = &commonv1.NetworkPolicy{} }))
			leads := func(to string, let ...int) {
				GinkgoHelper()
				Eventually(func(g Gomega) {
					var service corev1.Service
					g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(e), &service)).To(Succeed())
					g.Expect(service.Spec.Ports).To(ConsistOf(HaveField("TargetPort", HaveField("String()", to))))
					var policy networkingv1.NetworkPolicy
					g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(e), &policy)).To(Succeed())
					var open []int
					for _, p := range policy.Spec.Ingress[0].Ports {
						open = append(open, p.Port.IntValue())
					}
					g.Expect(open).To(ConsistOf(let))
				}).Should(Succeed())
			}
			ready(ctx, e)
			leads("http", 8080)
			good := template(ctx, e)
			update(ctx, e, func(o client.Object) {
				spec := &o.(*appv1.EasyService).Spec
				spec.Image, spec.Ports = "example.org/app"+broken, moved("http", 9090)
			})
			rolledBack(ctx, e, good)
			leads("http", 8080, 9090)
			waitForRest(o)

			update(ctx, e, func(o client.Object) {
				spec := &o.(*appv1.EasyService).Spec
				spec.Image, spec.Ports = "example.org/app:3", moved("web", 8080)
			})
			ready(ctx, e)
			leads("web", 8080)
			waitForRest(o)
		})

		DescribeTable("is rolled back although the operator dies on the way", func(ctx SpecContext, at string, what fault.Fault) {
			namespace := kind{level: "baseline"}.newNamespace(ctx)
			armed, struck := false, false
			o, err := launch(namespace, func(c fault.Call) fault.Fault {
				if armed && !struck && c.ID() == at {
					struck = true
					return what
				}
				return fault.None
			}, images)
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(func() { o.stop() })
			e := careful().In(namespace).Build()
			Expect(admin.Create(ctx, e)).To(Succeed())
			ready(ctx, e)
			good := template(ctx, e)
			release(ctx, e, "example.org/app"+broken)
			Eventually(checkCondition).WithArguments(ctx, e, commonv1.ConditionReady, metav1.ConditionFalse).Should(Succeed())
			o.Between(func() { armed = true })
			Eventually(func(g Gomega) {
				g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(e), e)).To(Succeed())
				g.Expect(o.Crashed() || e.Status.LastRollout.Result == appv1.RolloutRolledBack).To(BeTrue())
			}).Should(Succeed())
			o.stop()
			operate(namespace)
			rolledBack(ctx, e, good)
		},
			Entry("before it says so", "patch easyservices/status a", fault.CrashBefore),
			Entry("after it said so", "patch easyservices/status a", fault.CrashAfter),
			Entry("before it does so", "apply deployments a", fault.CrashBefore),
			Entry("after it did so", "apply deployments a", fault.CrashAfter),
		)

		It("is rolled back although it starts again and again", func(ctx SpecContext) {
			e, o := operated(ctx, careful().With(func(s *appv1.EasyServiceSpec) { s.Strategy.ProgressDeadlineSeconds = ptr.To[int32](6) }))
			ready(ctx, e)
			good, stable := template(ctx, e), e.Status.StableReplicaSet
			release(ctx, e, "example.org/app"+stopping)
			Eventually(checkCondition).WithArguments(ctx, e, commonv1.ConditionDegraded, metav1.ConditionTrue,
				commonv1.ReasonPodFailing).Should(Succeed())
			Expect(checkCondition(ctx, e, commonv1.ConditionReady, metav1.ConditionFalse)).To(Succeed())
			Eventually(checkCondition).WithArguments(ctx, e, commonv1.ConditionDegraded, metav1.ConditionTrue,
				commonv1.ReasonRolledBack).Should(Succeed())
			Eventually(template).WithArguments(ctx, e).Should(Equal(good))
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(e), e)).To(Succeed())
			Expect(e.Status.LastRollout.Message).To(ContainSubstring("keeps stopping: exit code 3 (Error)"))
			Expect(e.Status.StableReplicaSet).To(Equal(stable))
			waitForRest(o)
		})

		It("is Degraded beyond its deadline although it starts again and again, and then rests", func(ctx SpecContext) {
			e, o := operated(ctx, careful().Image("example.org/app"+
				stopping).With(func(s *appv1.EasyServiceSpec) { s.Strategy.ProgressDeadlineSeconds = ptr.To[int32](6) }))
			Eventually(checkCondition).WithArguments(ctx, e, commonv1.ConditionDegraded, metav1.ConditionTrue,
				commonv1.ReasonPodFailing).Should(Succeed())
			Eventually(checkCondition).WithArguments(ctx, e, commonv1.ConditionProgressing, metav1.ConditionFalse).Should(Succeed())
			Expect(checkCondition(ctx, e, commonv1.ConditionReady, metav1.ConditionFalse)).To(Succeed())
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(e), e)).To(Succeed())
			Expect(e.Status.LastRollout.Result).To(Equal(appv1.RolloutRunning), "there is nothing to return to")
			waitForRest(o)
		})

		It("stays where it is when the spec says to keep, and when there is nothing to return to", func(ctx SpecContext) {
			e, _ := operated(ctx, careful().Image("example.org/app"+broken))
			Eventually(checkCondition).WithArguments(ctx, e, commonv1.ConditionDegraded, metav1.ConditionTrue,
				commonv1.ReasonPodFailing).Should(Succeed())
			Expect(template(ctx, e).Spec.Containers[0].Image).To(HaveSuffix(broken))
			release(ctx, e, "example.org/app:1")
			ready(ctx, e)

			update(ctx, e, func(o client.Object) {
				spec := &o.(*appv1.EasyService).Spec
				spec.Strategy, spec.Image = nil, "example.org/app"+broken
			})
			Eventually(checkCondition).WithArguments(ctx, e, commonv1.ConditionDegraded, metav1.ConditionTrue,
				commonv1.ReasonPodFailing).Should(Succeed())
			Consistently(func() string { return template(ctx, e).Spec.Containers[0].Image }).Should(HaveSuffix(broken))
		})
	})

	Describe("configuration", func() {
		settings := func(namespace, value string) *corev1.ConfigMap {
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}, Data: map[string]string{"a": value}}
		}
		secret := func(namespace, value string) *corev1.Secret {
			return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "keys"}, StringData: map[string]string{"a": value}}
		}
		digest := func(ctx context.Context, e *appv1.EasyService) string {
			return template(ctx, e).Annotations["mainstay-operator.io/config"]
		}

		It("rolls the pods when it changes, and shows nothing of itself", func(ctx SpecContext) {
			namespace := kind{level: "baseline"}.newNamespace(ctx)
			Expect(admin.Create(ctx, settings(namespace, "1"))).To(Succeed())
			Expect(admin.Create(ctx, secret(namespace, "hunter2"))).To(Succeed())
			o := operate(namespace)
			e := builders.EasyService("a").In(namespace).With(func(s *appv1.EasyServiceSpec) {
				s.ConfigRefs = []appv1.ConfigRef{{Kind: appv1.ConfigMap, Name: "settings"}, {Kind: appv1.Secret, Name: "keys"},
					{Kind: appv1.ConfigMap, Name: "perhaps", Optional: true}}
			}).Build()
			Expect(admin.Create(ctx, e)).To(Succeed())
			ready(ctx, e)
			seen := map[string]bool{digest(ctx, e): true}
			Expect(seen).NotTo(HaveKey(""))
			rolls := func(reason string, change func() error) {
				GinkgoHelper()
				Expect(change()).To(Succeed())
				Eventually(func() string { return digest(ctx, e) }).ShouldNot(BeElementOf(keys(seen)), reason)
				seen[digest(ctx, e)] = true
				ready(ctx, e)
			}
			rolls("a ConfigMap's value", func() error { return admin.Update(ctx, settings(namespace, "2")) })
			rolls("a Secret's value", func() error { return admin.Update(ctx, secret(namespace, "hunter3")) })
			rolls("one that comes", func() error {
				late := settings(namespace, "1")
				late.Name = "perhaps"
				return admin.Create(ctx, late)
			})
			rolls("one that is named no more", func() error {
				return admin.Patch(ctx, e, client.RawPatch("application/merge-patch+json",
					[]byte(`{"spec":{"configRefs":[{"kind":"Secret","name":"keys"}]}}`)))
			})

			By("a write that changes nothing")
			waitForRest(o)
			at := digest(ctx, e)
			labelled := secret(namespace, "hunter3")
			labelled.Labels = map[string]string{"a": "b"}
			Expect(admin.Update(ctx, labelled)).To(Succeed())
			Eventually(o.Calls).WithArguments(func(c fault.Call) bool { return c.ID() == "get secrets keys" }).ShouldNot(BeEmpty())
			Consistently(o.Calls).WithArguments(writes).Should(BeEmpty())
			Expect(digest(ctx, e)).To(Equal(at))
		})

		It("that is missing is named, and what runs continues until it is back", func(ctx SpecContext) {
			e, _ := operated(ctx, builders.EasyService("a").With(func(s *appv1.EasyServiceSpec) {
				s.ConfigRefs = []appv1.ConfigRef{{Kind: appv1.Secret, Name: "keys"}}
			}))
			missing := func() {
				GinkgoHelper()
				Eventually(checkCondition).WithArguments(ctx, e, commonv1.ConditionDegraded, metav1.ConditionTrue,
					commonv1.ReasonInvalidSpec).Should(Succeed())
				read, err := live(ctx, e)
				Expect(err).NotTo(HaveOccurred())
				Expect(conditionOf(read,
					commonv1.ConditionDegraded).Message).To(HavePrefix(`configRefs[0]: there is no Secret "keys" in this namespace`))
			}
			missing()
			Expect(versions(ctx, e.Namespace)).To(BeEmpty(), "nothing starts without it")
			Expect(admin.Create(ctx, secret(e.Namespace, "1"))).To(Succeed())
			ready(ctx, e)
			was := digest(ctx, e)
			Expect(was).NotTo(BeEmpty())
			Expect(admin.Delete(ctx, secret(e.Namespace, ""))).To(Succeed())
			missing()
			Expect(checkCondition(ctx, e, commonv1.ConditionAvailable, metav1.ConditionTrue)).To(Succeed())
			Expect(digest(ctx, e)).To(Equal(was))
			update(ctx, e, func(o client.Object) { o.(*appv1.EasyService).Spec.Size = ptr.To[int32](2) })
			Eventually(func() int32 {
				_ = admin.Get(ctx, client.ObjectKeyFromObject(e),
					e)
				return e.Status.ReadyReplicas
			}).Should(BeEquivalentTo(2), "what runs is looked after")
			Expect(admin.Create(ctx, secret(e.Namespace, "1"))).To(Succeed())
			ready(ctx, e)
			Expect(digest(ctx, e)).To(Equal(was), "the same content")
		})
	})

	It("has an Ingress as a controller wants it, whose URL is reported, and which goes when it is not wanted", func(ctx SpecContext) {
		e, _ := operated(ctx, builders.EasyService("a").Ports(appv1.Port{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP},
			appv1.Port{Name: "web", Port: 80}).
			With(func(s *appv1.EasyServiceSpec) {
				s.Ingress = &appv1.Ingress{ClassName: ptr.To("nginx"), Host: "a.example.org", TLSSecret: "cert",
					Annotations: map[string]string{"x": "y"}}
			}))
		ready(ctx, e)
		var made networkingv1.Ingress
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(e), &made)).To(Succeed())
		Expect(made.Annotations).To(HaveKeyWithValue("x", "y"))
		Expect(made.Spec).To(Equal(networkingv1.IngressSpec{
			IngressClassName: ptr.To("nginx"),
			TLS:              []networkingv1.IngressTLS{{Hosts: []string{"a.example.org"}, SecretName: "cert"}},
			Rules: []networkingv1.IngressRule{{Host: "a.example.org",
				IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
					Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: ptr.To(networkingv1.PathTypePrefix), Backend: networkingv1.IngressBackend{
						Service: &networkingv1.IngressServiceBackend{Name: "a", Port: networkingv1.ServiceBackendPort{Number: 80}},
					}}},
				}}}},
		}))
		Expect(e.Status.Endpoints).To(ContainElement(appv1.Endpoint{Name: "web", Type: appv1.EndpointIngress, URL: "https://a.example.org/"}))

		By("any host: what the controller was given")
		update(ctx, e, func(o client.Object) { o.(*appv1.EasyService).Spec.Ingress = &appv1.Ingress{} })
		ready(ctx, e)
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(e), &made)).To(Succeed())
		Expect(made.Spec.TLS).To(BeEmpty())
		Expect(made.Spec.IngressClassName).To(BeNil())
		made.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.1"}}
		Expect(admin.Status().Update(ctx, &made)).To(Succeed())
		Eventually(func() []appv1.Endpoint {
			_ = admin.Get(ctx, client.ObjectKeyFromObject(e), e)
			return e.Status.Endpoints
		}).
			Should(ContainElement(appv1.Endpoint{Name: "web", Type: appv1.EndpointIngress, URL: "http://192.0.2.1/"}))

		update(ctx, e, func(o client.Object) { o.(*appv1.EasyService).Spec.Ingress = nil })
		ready(ctx, e)
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(e), &made)).NotTo(Succeed())
		Expect(e.Status.Endpoints).NotTo(ContainElement(HaveField("Type", appv1.EndpointIngress)))
	})

	It("is headless: its name leads to the pods and the ports that they listen on", func(ctx SpecContext) {
		e, o := operated(ctx, builders.EasyService("a").Type("ClusterIP").Ports(appv1.Port{Name: "http", Port: 80,
			TargetPort: ptr.To(intstr.FromInt32(8080))}).
			With(func(s *appv1.EasyServiceSpec) { s.Service.Headless = true }))
		ready(ctx, e)
		var service corev1.Service
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(e), &service)).To(Succeed())
		Expect(service.Spec.ClusterIP).To(Equal(corev1.ClusterIPNone))
		Expect(e.Status.Endpoints).To(Equal([]appv1.Endpoint{{Name: "http", Type: corev1.ServiceTypeClusterIP,
			URL: "http://a." + e.Namespace + ".svc:8080"}}))
		waitForRest(o)
	})

	It("is sized by the autoscaler of the samples", func(ctx SpecContext) {
		var e appv1.EasyService
		var scaler autoscalingv2.HorizontalPodAutoscaler
		sample(&e, "app_v1_easyservice_shop.yaml")
		sample(&scaler, "autoscaling_v2_horizontalpodautoscaler.yaml")
		e.Namespace = kind{level: "baseline"}.newNamespace(ctx)
		scaler.Namespace = e.Namespace
		operate(e.Namespace)
		Expect(admin.Create(ctx, &e)).To(Succeed())
		Expect(admin.Create(ctx, &scaler)).To(Succeed())
		ready(ctx, &e)
		Expect(e.Status.Endpoints).To(ContainElement(HaveField("URL", "http://shop.example.org/")))

		By("what its controller does: find the target, its pods, and scale it")
		gvk, err := admin.GroupVersionKindFor(&e)
		Expect(err).NotTo(HaveOccurred())
		Expect(scaler.Spec.ScaleTargetRef).To(Equal(autoscalingv2.CrossVersionObjectReference{APIVersion: gvk.GroupVersion().String(),
			Kind: gvk.Kind, Name: e.Name}))
		_, counted := measured(ctx, &e)
		Expect(counted).To(HaveLen(1))
		Expect(counted[0].Spec.Containers).To(HaveEach(HaveField("Resources.Requests", HaveKey(corev1.ResourceCPU))))
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: *scaler.Spec.MinReplicas}}
		Expect(admin.SubResource("scale").Update(ctx, &e, client.WithSubResourceBody(scale))).To(Succeed())
		Eventually(func() int32 {
			_ = admin.Get(ctx, client.ObjectKeyFromObject(&e),
				&e)
			return e.Status.ReadyReplicas
		}).Should(BeEquivalentTo(2))
	})

	It("offers TCP and UDP on one number", func(ctx SpecContext) {
		e, service := exposedService(ctx, builders.EasyService("a").Ports(
			appv1.Port{Name: "tcp", Port: 53}, appv1.Port{Name: "udp", Port: 53, Protocol: corev1.ProtocolUDP},
		))
		Expect(service.Spec.Ports).To(ConsistOf(HaveField("Protocol", corev1.ProtocolTCP), HaveField("Protocol", corev1.ProtocolUDP)))
		Expect(template(ctx, e).Spec.Containers[0].Ports).To(HaveLen(2))
		update(ctx, e, func(o client.Object) { o.(*appv1.EasyService).Spec.Ports[1].Name = "other" })
		now := eventuallyOffers(ctx, e)
		Expect(now.Spec.Ports[1].NodePort).To(Equal(service.Spec.Ports[1].NodePort), "before %+v, now %+v", service.Spec.Ports, now.Spec.Ports)
	})

	It("loses its account, volumes and mounts again when they are taken out", func(ctx SpecContext) {
		e, _ := operated(ctx, builders.EasyService("a"))
		ready(ctx, e)
		before := template(ctx, e)
		update(ctx, e, func(o client.Object) {
			spec := &o.(*appv1.EasyService).Spec
			spec.ServiceAccountName = "reader"
			spec.Volumes = []corev1.Volume{{Name: "a", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			spec.VolumeMounts = []corev1.VolumeMount{{Name: "a", MountPath: "/a"}}
		})
		ready(ctx, e)
		with := template(ctx, e).Spec
		Expect(with.ServiceAccountName).To(Equal("reader"))
		Expect(with.AutomountServiceAccountToken).To(BeNil())
		Expect(with.Containers[0].VolumeMounts).To(HaveLen(1))
		update(ctx, e, func(o client.Object) {
			spec := &o.(*appv1.EasyService).Spec
			spec.ServiceAccountName, spec.Volumes, spec.VolumeMounts = "", nil, nil
		})
		ready(ctx, e)
		Expect(template(ctx, e)).To(Equal(before))
	})

	It("says which mount has no volume, in the server's words, and heals", func(ctx SpecContext) {
		e, o := operated(ctx, builders.EasyService("a"))
		ready(ctx, e)
		update(ctx, e, func(o client.Object) {
			spec := &o.(*appv1.EasyService).Spec
			spec.Volumes = []corev1.Volume{{Name: "a", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			spec.VolumeMounts = []corev1.VolumeMount{{Name: "nowhere", MountPath: "/a"}}
		})
		Eventually(checkCondition).WithArguments(ctx, e, commonv1.ConditionDegraded, metav1.ConditionTrue,
			commonv1.ReasonRefusedByServer).Should(Succeed())
		read, err := live(ctx, e)
		Expect(err).NotTo(HaveOccurred())
		Expect(conditionOf(read, commonv1.ConditionDegraded).Message).To(ContainSubstring(`volumeMounts[0].name: Not found: "nowhere"`))
		Expect(o.Calls(func(c fault.Call) bool { return c.Code == http.StatusUnprocessableEntity })).NotTo(BeEmpty())
		Expect(checkCondition(ctx, e, commonv1.ConditionAvailable, metav1.ConditionTrue)).To(Succeed())
		update(ctx, e, func(o client.Object) { o.(*appv1.EasyService).Spec.VolumeMounts = nil })
		ready(ctx, e)
	})
})

// sample reads a file of config/samples.
func sample(into client.Object, file string) {
	GinkgoHelper()
	content, err := os.ReadFile(filepath.Join(root, "config/samples", file))
	Expect(err).NotTo(HaveOccurred())
	Expect(yaml.Unmarshal(content, into)).To(Succeed())
}

func keys(seen map[string]bool) []string {
	var list []string
	for key := range seen {
		list = append(list, key)
	}
	return list
}
