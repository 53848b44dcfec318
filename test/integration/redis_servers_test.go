package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// redisServer plays the kubelet to one pod: a real redis-server at its address,
// with the files as they were when it was started or last refreshed.
type redisServer struct {
	address, dir string
	process      *exec.Cmd
}

// serve gives every pod of a Redis a server.
func serve(ctx context.Context, namespace, name string, size int) map[string]*redisServer {
	GinkgoHelper()
	servers := map[string]*redisServer{}
	for n := range size {
		pod := &corev1.Pod{}
		key := client.ObjectKey{Namespace: namespace, Name: fmt.Sprintf("%s-%d", name, n)}
		Eventually(func() error { return admin.Get(ctx, key, pod) }).Should(Succeed())
		s := &redisServer{address: freeAddress(), dir: GinkgoT().TempDir()}
		s.mount(ctx, namespace, name)
		s.start()
		DeferCleanup(s.stop)
		setPodIP(ctx, key, s.address)
		servers[pod.Name] = s
	}
	return servers
}

// setPodIP gives a pod an address.
func setPodIP(ctx context.Context, key client.ObjectKey, address string) {
	GinkgoHelper()
	pod := &corev1.Pod{}
	Eventually(func() error {
		if err := admin.Get(ctx, key, pod); err != nil {
			return err
		}
		pod.Status.PodIP, pod.Status.PodIPs = address, []corev1.PodIP{{IP: address}}
		return admin.Status().Update(ctx, pod)
	}).Should(Succeed())
}

// freeAddress is one of this machine's own, where the port of Redis is free.
func freeAddress() string {
	GinkgoHelper()
	for range 100 {
		address := fmt.Sprintf("127.%d.%d.%d", 100+rand.IntN(100), rand.IntN(256), 1+rand.IntN(250))
		if listener, err := net.Listen("tcp", address+":6379"); err == nil {
			Expect(listener.Close()).To(Succeed())
			return address
		}
	}
	Fail("no address is free")
	return ""
}

// mount brings the files up to date, as the kubelet does in its own time.
func (r *redisServer) mount(ctx context.Context, namespace, name string) {
	GinkgoHelper()
	var files corev1.Secret
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name + "-files"}, &files)).To(Succeed())
	here := strings.NewReplacer(`dir "/data"`, "dir "+r.dir, "/etc/redis", r.dir)
	for _, file := range []string{"redis.conf", "users.acl"} {
		Expect(os.WriteFile(filepath.Join(r.dir, file), []byte(here.Replace(string(files.Data[file]))), 0o600)).To(Succeed())
	}
}

func (r *redisServer) start() {
	GinkgoHelper()
	r.process = exec.Command("redis-server", filepath.Join(r.dir, "redis.conf"), "--bind", r.address, "--replica-announce-ip", r.address)
	r.process.Stdout, r.process.Stderr = GinkgoWriter, GinkgoWriter
	Expect(r.process.Start()).To(Succeed())
	c := r.client(1, func() (string, string) { return "_probe", "-" })
	defer func() { _ = c.Close() }()
	// Who has no data yet refuses a PING.
	Eventually(func() error { return c.Do(context.Background(), "ROLE").Err() }).Should(Succeed())
}

func (r *redisServer) stop() {
	_ = r.process.Process.Kill()
	_ = r.process.Wait()
}

// login over a connection of its own.
func (r *redisServer) login(user, password string) error {
	c := r.client(1, func() (string, string) { return user, password })
	defer func() { _ = c.Close() }()
	return c.Ping(context.Background()).Err()
}

func (r *redisServer) client(pool int, credentials func() (string, string)) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: r.address + ":6379", CredentialsProvider: credentials, PoolSize: pool, Protocol: 2,
		MaxRetries: -1, DialerRetries: 1, DisableIdentity: true, ConnMaxLifetime: 300 * time.Millisecond,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// application uses a Redis without a pause and never again reads its password
// but from where it is mounted, which follows the Secret with a delay.
type application struct {
	mounted atomic.Pointer[string]
	done    atomic.Int64
	mu      sync.Mutex
	failed  []error
	over    bool
}

// use writes over a pool whose connections come and go, over a fresh connection
// each time, and over one that logged in at the start, until the spec ends.
func use(namespace, name string, s *redisServer) *application {
	GinkgoHelper()
	a := &application{}
	living, end := context.WithCancel(context.Background())
	var group sync.WaitGroup
	DeferCleanup(func() { end(); group.Wait() })
	secret := func() (string, error) {
		var found corev1.Secret
		err := admin.Get(living, client.ObjectKey{Namespace: namespace, Name: name + "-auth"}, &found)
		return string(found.Data["password"]), err
	}
	first, err := secret()
	Expect(err).NotTo(HaveOccurred())
	a.mounted.Store(&first)
	credentials := func() (string, string) { return "default", *a.mounted.Load() }
	pool, long := s.client(4, credentials), s.client(1, credentials).Conn()
	group.Go(func() {
		a.each(living, 2*time.Millisecond, func() error { return pool.Set(living, "pool", "v", 0).Err() })
	})
	group.Go(func() {
		a.each(living, 2*time.Millisecond, func() error { return long.Set(living, "long", "v", 0).Err() })
	})
	group.Go(func() { a.each(living, 5*time.Millisecond, func() error { return s.login(credentials()) }) })
	group.Go(func() { // a lost Secret stays mounted as it was
		a.each(living, 700*time.Millisecond, func() error {
			if password, err := secret(); err == nil {
				a.mounted.Store(&password)
			}
			return nil
		})
	})
	return a
}

func (a *application) each(ctx context.Context, interval time.Duration, do func() error) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := do(); err != nil && ctx.Err() == nil {
			a.mu.Lock()
			if !a.over {
				a.failed = append(a.failed, fmt.Errorf("at %s: %w", time.Now().Format(time.StampMilli), err))
			}
			a.mu.Unlock()
		}
		a.done.Add(1)
	}
}

// failures so far.
func (a *application) failures() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.failed) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d operations failed, first %w", len(a.failed), a.done.Load(), a.failed[0])
}

// forgive what a master's end has cost.
func (a *application) forgive() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed, a.over = nil, true
}
