package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

var _ = Describe("EasyService:", func() {
	web := func(size int32, change func(*appv1.EasyServiceSpec)) *appv1.EasyService {
		e := &appv1.EasyService{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec:       appv1.EasyServiceSpec{Size: ptr.To(size), Image: nginxImage, Ports: []appv1.Port{{Name: "http", Port: 80}}},
		}
		change(&e.Spec)
		return e
	}
	quick := func(s *appv1.EasyServiceSpec) { s.TerminationGracePeriodSeconds = ptr.To[int64](1) }

	// hack/cluster's node is this machine: the load goes by kube-proxy's rules alone.
	It("fails no request of 200 per second while all pods are replaced", Serial, Label(faults), func(ctx SpecContext) {
		const rate = 200
		e := web(3, func(*appv1.EasyServiceSpec) {})
		create(ctx, e)
		eventuallyReady(ctx, e)
		eventuallyAnswers(ctx, e, 80)
		service := offered(ctx, e)
		load := traffic.StartLoad(traffic.At(service.Spec.ClusterIP), traffic.Service{Namespace: e.Namespace, Name: e.Name, Port: 80}, "/", rate)
		before := podsOf(ctx, "easyservice", "web")
		edit(ctx, e, func(e *appv1.EasyService) { e.Spec.Envs = []corev1.EnvVar{{Name: "VERSION", Value: "2"}} })
		eventuallyReady(ctx, e)
		Eventually(func(g Gomega) {
			now := podsOf(ctx, "easyservice", "web")
			g.Expect(now).To(HaveLen(3))
			for _, pod := range before {
				g.Expect(now).NotTo(ContainElement(HaveField("UID", pod.UID)))
			}
		}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())
		seen := load.Stop()
		AddReportEntry(fmt.Sprintf("a rolling update under load: %d requests in %s, %d failed, the slowest took %s", seen.Requests,
			seen.Lasted.Round(time.Second), seen.Failed, seen.Slowest))
		Expect(seen.Failed).To(BeZero(), "%v", seen.First)
		Expect(float64(seen.Requests)).To(BeNumerically(">", 0.9*rate*seen.Lasted.Seconds()))
		refresh(ctx, e)
		Expect(e.Status.LastRollout).To(And(HaveField("Result", appv1.RolloutCompleted), HaveField("FinishTime", Not(BeNil()))))
		Expect(e.Status.Image).To(ContainSubstring("sha256:"))
	})

	It("returns to the pods that ran when a release cannot start, and says why", func(ctx SpecContext) {
		e := web(2, func(s *appv1.EasyServiceSpec) {
			quick(s)
			s.Strategy = &appv1.Strategy{OnFailure: appv1.Rollback, ProgressDeadlineSeconds: ptr.To[int32](20)}
		})
		create(ctx, e)
		eventuallyReady(ctx, e)
		good, before := deployment(ctx, e), podsOf(ctx, "easyservice", "web")

		// Nothing listens on the node's discard port: the refusal is quick and local.
		edit(ctx, e, func(e *appv1.EasyService) { e.Spec.Image = "127.0.0.1:9/nothing/here:1" })
		Eventually(func(g Gomega) {
			refresh(ctx, e)
			g.Expect(condition(e, commonv1.ConditionDegraded)).To(And(
				HaveField("Status", metav1.ConditionTrue), HaveField("Reason", commonv1.ReasonRolledBack),
				HaveField("Message", ContainSubstring("127.0.0.1:9/nothing/here:1")),
			))
			g.Expect(podsOf(ctx, "easyservice", "web")).To(ConsistOf(HaveField("UID", before[0].UID), HaveField("UID", before[1].UID)))
		}).WithContext(ctx).Should(Succeed())
		Expect(deployment(ctx, e).Spec.Template).To(Equal(good.Spec.Template))
		Expect(condition(e, commonv1.ConditionAvailable).Status).To(Equal(metav1.ConditionTrue))
		Expect(condition(e, commonv1.ConditionReady)).To(And(HaveField("Status", metav1.ConditionFalse),
			HaveField("Reason", commonv1.ReasonRolledBack)))
		Expect(e.Status.LastRollout.Result).To(Equal(appv1.RolloutRolledBack))
		eventuallyAnswers(ctx, e, 80)

		edit(ctx, e, func(e *appv1.EasyService) {
			e.Spec.Image, e.Spec.Envs = nginxImage, []corev1.EnvVar{{Name: "VERSION", Value: "3"}}
		})
		eventuallyReady(ctx, e)
		Expect(condition(e, commonv1.ConditionDegraded).Status).To(Equal(metav1.ConditionFalse))
		eventuallyAnswers(ctx, e, 80)
	})

	It("fails no request of 200 per second while its targetPort moves, nor when a release that moves it is taken back", Serial, Label(faults),
		func(ctx SpecContext) {
			e := web(3, func(s *appv1.EasyServiceSpec) {
				s.Strategy = &appv1.Strategy{OnFailure: appv1.Rollback, ProgressDeadlineSeconds: ptr.To[int32](20)}
			})
			create(ctx, e)
			eventuallyReady(ctx, e)
			eventuallyAnswers(ctx, e, 80)
			load := traffic.StartLoad(traffic.At(offered(ctx, e).Spec.ClusterIP), traffic.Service{Namespace: e.Namespace, Name: e.Name, Port: 80},
				"/", 200)
			move := func(to int, image string) {
				edit(ctx, e, func(e *appv1.EasyService) {
					e.Spec.Image, e.Spec.Ports[0].TargetPort = image, ptr.To(intstr.FromInt(to))
					e.Spec.Command = []string{"sh", "-c", fmt.Sprintf("sed -i 's/80;/%d;/' /etc/nginx/conf.d/default.conf && exec nginx -g 'daemon off;'",
						to)}
				})
			}
			move(8080, nginxImage)
			eventuallyReady(ctx, e)
			moved := e.Status.StableReplicaSet

			// Nothing listens on the node's discard port: the refusal is quick and local.
			move(9090, "127.0.0.1:9/nothing/here:1")
			Eventually(func(g Gomega) {
				refresh(ctx, e)
				g.Expect(condition(e, commonv1.ConditionDegraded).Reason).To(Equal(commonv1.ReasonRolledBack))
				g.Expect(podsOf(ctx, "easyservice", "web")).To(HaveLen(3))
			}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())
			Expect(e.Status.StableReplicaSet).To(Equal(moved))
			eventuallyAnswers(ctx, e, 80)
			seen := load.Stop()
			AddReportEntry(fmt.Sprintf("a targetPort that moves, and a rollback, under load: %d requests in %s, %d failed, the slowest took %s",
				seen.Requests, seen.Lasted.Round(time.Second), seen.Failed, seen.Slowest))
			Expect(seen.Failed).To(BeZero(), "%v", seen.First)
		})

	It("returns from a release without ports that stops a second after each start, and never calls it ready", func(ctx SpecContext) {
		e := web(1, func(s *appv1.EasyServiceSpec) {
			quick(s)
			s.Ports, s.Command = nil, []string{"sleep", "1000000"}
			s.Strategy = &appv1.Strategy{OnFailure: appv1.Rollback, ProgressDeadlineSeconds: ptr.To[int32](25)}
		})
		create(ctx, e)
		eventuallyReady(ctx, e)
		good, before, stable := deployment(ctx, e), podsOf(ctx, "easyservice", "web"), e.Status.StableReplicaSet

		edit(ctx, e, func(e *appv1.EasyService) { e.Spec.Command = []string{"sh", "-c", "sleep 1; exit 3"} })
		asked := e.Generation
		degraded := 0
		Eventually(func(g Gomega) {
			refresh(ctx, e)
			if e.Status.ObservedGeneration == asked && condition(e, commonv1.ConditionReady).Status != metav1.ConditionFalse {
				StopTrying("it was called ready").Now()
			}
			switch c := condition(e, commonv1.ConditionDegraded); {
			case c.Status == metav1.ConditionTrue:
				degraded++
			case degraded > 0:
				StopTrying("Degraded turned back: " + c.Message).Now()
			}
			g.Expect(condition(e, commonv1.ConditionDegraded).Reason).To(Equal(commonv1.ReasonRolledBack))
		}).WithContext(ctx).Should(Succeed())
		Expect(e.Status.LastRollout.Message).To(ContainSubstring("keeps stopping: exit code 3"))
		Expect(e.Status.StableReplicaSet).To(Equal(stable))
		Eventually(func(g Gomega) {
			g.Expect(podsOf(ctx, "easyservice", "web")).To(ConsistOf(HaveField("UID", before[0].UID)), "it ran all the while")
		}).WithContext(ctx).Should(Succeed())
		Expect(deployment(ctx, e).Spec.Template).To(Equal(good.Spec.Template))
	})

	It("serves what its ConfigMap says, in new pods when that changes", func(ctx SpecContext) {
		page := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "page"}, Data: map[string]string{"index.html": "one"}}
		create(ctx, page)
		e := web(1, func(s *appv1.EasyServiceSpec) {
			quick(s)
			s.ConfigRefs = []appv1.ConfigRef{{Kind: appv1.ConfigMap, Name: "page"}}
			s.Volumes = []corev1.Volume{{Name: "page", VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "page"}}}}}
			s.VolumeMounts = []corev1.VolumeMount{{Name: "page", MountPath: "/usr/share/nginx/html"}}
		})
		create(ctx, e)
		serves := func(body string) {
			GinkgoHelper()
			eventuallyReady(ctx, e)
			Eventually(func(g Gomega) {
				limited, cancel := context.WithTimeout(ctx, 5*time.Second)
				defer cancel()
				answer, err := traffic.Get(limited, network, traffic.Service{Namespace: namespace, Name: "web", Port: 80}, "/")
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(answer.Body).To(Equal(body))
			}).WithContext(ctx).Should(Succeed())
		}
		serves("one")
		before := podsOf(ctx, "easyservice", "web")
		page.Data["index.html"] = "two"
		Expect(k8s.Update(ctx, page)).To(Succeed())
		Eventually(func() []corev1.Pod { return podsOf(ctx, "easyservice", "web") }).
			WithContext(ctx).Should(ContainElement(HaveField("UID", Not(Equal(before[0].UID)))))
		serves("two")
	})

	It("answers over TCP and UDP on one number, as the account that it names", Label(faults), func(ctx SpecContext) {
		create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}})
		e := &appv1.EasyService{
			ObjectMeta: metav1.ObjectMeta{Name: "cache"},
			Spec: appv1.EasyServiceSpec{
				Image: "docker.io/library/memcached:1.6.38", Args: []string{"-U", "11211"}, ServiceAccountName: "reader",
				Ports: []appv1.Port{{Name: "tcp", Port: 11211}, {Name: "udp", Port: 11211, Protocol: corev1.ProtocolUDP}},
			},
		}
		quick(&e.Spec)
		create(ctx, e)
		eventuallyReady(ctx, e)
		pod := podsOf(ctx, "easyservice", "cache")[0]
		Expect(pod.Spec.ServiceAccountName).To(Equal("reader"))
		Expect(pod.Spec.Volumes).To(ContainElement(HaveField("Projected", Not(BeNil()))), "its token")

		at := net.JoinHostPort(offered(ctx, e).Spec.ClusterIP, "11211")
		for protocol, ask := range map[string]string{
			"tcp": "version\r\n",
			"udp": "\x00\x01\x00\x00\x00\x01\x00\x00version\r\n", // behind memcached's frame of 8 bytes
		} {
			Eventually(func(g Gomega) {
				conn, err := net.DialTimeout(protocol, at, 2*time.Second)
				g.Expect(err).NotTo(HaveOccurred())
				defer conn.Close() //nolint:errcheck // it has been read
				g.Expect(conn.SetDeadline(time.Now().Add(2 * time.Second))).To(Succeed())
				_, err = conn.Write([]byte(ask))
				g.Expect(err).NotTo(HaveOccurred())
				line, err := bufio.NewReader(conn).ReadString('\n')
				g.Expect(err).NotTo(HaveOccurred(), protocol)
				g.Expect(strings.TrimSpace(line)).To(HaveSuffix("VERSION 1.6.38"), protocol)
			}).WithContext(ctx).Should(Succeed())
		}
	})
})
