package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/bench/figures"
	"github.com/mainstay-operator/mainstay-operator/test/bench/null"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

// users write objects at the same time.
const users = 8

// contestant is one that runs.
type contestant struct {
	// user is who it is to the API server.
	user     string
	managers []manager
	// err returns what went wrong in the meantime.
	err  func() error
	stop func(context.Context) error
}

// run one contestant, and measure what it costs.
func (b *bench) run(ctx context.Context, s setting, name string, recipe null.Recipe) (r figures.Run, err error) {
	namespace, err := b.newNamespace(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.deleteNamespace(context.WithoutCancel(ctx), namespace)) }()
	var c contestant
	if name == figures.Null {
		c, err = b.startNull(ctx, s.kind, namespace, recipe)
	} else {
		c, err = b.startOurs(ctx)
	}
	if err != nil {
		return r, err
	}
	r = figures.Run{Kind: s.kind.name, Objects: s.objects, Contestant: name}
	if err := b.measure(ctx, s, namespace, c, &r); err != nil {
		return r, errors.Join(err, errors.New(cluster.Diagnose(ctx, cluster.OperatorNamespace, time.Now().Add(-time.Minute))))
	}
	return r, errors.Join(c.err(), c.stop(ctx))
}

// startNull starts the null operator with as many workers as the operator has for one namespace.
func (b *bench) startNull(ctx context.Context, k kind, namespace string, recipe null.Recipe) (contestant, error) {
	config, c, err := b.account.client(b.config, b.k8s.Scheme())
	if err != nil {
		return contestant{}, err
	}
	running, stop := context.WithCancel(ctx)
	operator, err := null.Start(running, config, c, namespace, recipe, b.account.workers[k.name])
	if err != nil {
		stop()
		return contestant{}, err
	}
	return contestant{user: b.account.user(), err: operator.Err, stop: func(context.Context) error {
		stop()
		return nil
	}}, nil
}

// startOurs recalls the operator, until one of two new managers leads.
func (b *bench) startOurs(ctx context.Context) (contestant, error) {
	if err := b.recall(); err != nil {
		return contestant{}, err
	}
	all, err := b.managersOnceOneLeads(ctx)
	return contestant{user: cluster.OperatorUser, managers: all, err: func() error { return nil }, stop: b.dismissOperator}, err
}

func (b *bench) managersOnceOneLeads(ctx context.Context) ([]manager, error) {
	if err := poll(ctx, timeout, func(ctx context.Context) error { return cluster.Leads(ctx, b.k8s) }); err != nil {
		return nil, err
	}
	return b.managers(ctx)
}

// measure the phases, how much memory the objects take once all are Ready, and how long an edit waits while a manager is replaced.
func (b *bench) measure(ctx context.Context, s setting, namespace string, c contestant, r *figures.Run) error {
	seen, stop, err := b.observe(ctx, s.kind, namespace)
	if err != nil {
		return err
	}
	defer stop()
	within := timeout + time.Duration(s.objects)*timePerObject
	before, err := b.memory(ctx, c.managers)
	if err != nil {
		return err
	}
	each := func(write func(object) error) error {
		return cluster.ForEach(ctx, users, s.objects, func(i int) error { return write(b.nthObject(s.kind, namespace, i+1)) })
	}
	measured := func(name string, write func() error, until func(context.Context) error) error {
		phase, err := b.phase(ctx, c, namespace, within, write, until)
		if err != nil {
			return fmt.Errorf("%s: %w", name, errors.Join(err, c.err()))
		}
		phase.Name = name
		r.Phases = append(r.Phases, phase)
		return nil
	}
	allReady := func(generation int64) func(context.Context) error {
		return func(context.Context) error { return seen.allReady(generation, s.objects) }
	}
	if err := measured(figures.Create, func() error {
		return each(func(o object) error { return b.k8s.Create(ctx, o) })
	}, allReady(1)); err != nil {
		return err
	}
	after, err := b.memory(ctx, c.managers)
	if err != nil {
		return err
	}
	if err := measured(figures.Edit, func() error {
		return each(func(o object) error { return b.k8s.Patch(ctx, o, resize) })
	}, allReady(2)); err != nil {
		return err
	}
	if r.Managers, err = b.report(ctx, s.kind, c.managers, before, after); err != nil {
		return err
	}
	if len(c.managers) > 0 {
		if c.managers, err = b.replaceManagers(ctx, s.kind, namespace, c.managers, seen, r); err != nil {
			return err
		}
		if err := b.untilResting(ctx, c.user, namespace, within); err != nil { // the first passes of the new leader
			return err
		}
	}
	return measured(figures.Delete, func() error {
		return b.k8s.DeleteAllOf(ctx, s.kind.of(""), client.InNamespace(namespace))
	}, allReady(0))
}

// phase measures what is written, until it has led to what is waited for and the contestant rests.
func (b *bench) phase(ctx context.Context, c contestant, namespace string, within time.Duration, write func() error,
	until func(context.Context) error) (p figures.Phase, err error) {
	position, err := b.log.Now()
	if err != nil {
		return p, err
	}
	server, err := cluster.APIServer()
	if err != nil {
		return p, err
	}
	pids := []int{server}
	for _, m := range c.managers {
		pids = append(pids, m.pid)
	}
	before, err := cpuTimes(pids)
	if err != nil {
		return p, err
	}
	started := time.Now()
	if err := write(); err != nil {
		return p, err
	}
	if err := poll(ctx, within, until); err != nil {
		return p, err
	}
	p.Took = time.Since(started)
	if err := b.untilResting(ctx, c.user, namespace, within); err != nil {
		return p, err
	}
	after, err := cpuTimes(pids)
	if err != nil {
		return p, err
	}
	p.APIServerCPU = after[0] - before[0]
	for i := range c.managers {
		p.ManagerCPU += after[i+1] - before[i+1]
	}
	requests, err := b.log.By(c.user, position)
	p.Requests = figures.Count(requests, namespace)
	return p, err
}

func cpuTimes(pids []int) ([]time.Duration, error) {
	var all []time.Duration
	for _, pid := range pids {
		used, err := fault.CPUTime(pid)
		if err != nil {
			return nil, err
		}
		all = append(all, used)
	}
	return all, nil
}

// untilResting waits until a user has sent nothing about a namespace for a while.
func (b *bench) untilResting(ctx context.Context, user, namespace string, within time.Duration) error {
	position, err := b.log.Now()
	if err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, restingTime, within, false, func(context.Context) (bool, error) {
		requests, err := b.log.By(user, position)
		if err != nil || figures.Count(requests, namespace).Total() == 0 {
			return err == nil, err
		}
		position, err = b.log.Now()
		return false, err
	})
}

// observed is what a watch has shown of the objects.
type observed struct {
	mu sync.Mutex
	// readyIn is the generation that each object was Ready in last.
	readyIn map[string]int64
}

// observe the objects of a namespace until stop is called. It is the same for both contestants.
func (b *bench) observe(ctx context.Context, k kind, namespace string) (seen *observed, stop func(), err error) {
	watches, err := cache.New(b.config, cache.Options{Scheme: b.k8s.Scheme(), DefaultNamespaces: map[string]cache.Config{namespace: {}}})
	if err != nil {
		return nil, nil, err
	}
	seen = &observed{readyIn: map[string]int64{}}
	running, stop := context.WithCancel(ctx)
	go func() { _ = watches.Start(running) }()
	informer, err := watches.GetInformer(running, k.of(""))
	if err != nil {
		stop()
		return nil, nil, err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    seen.note,
		UpdateFunc: func(_, o any) { seen.note(o) },
		DeleteFunc: seen.forget,
	})
	return seen, stop, err
}

func (o *observed) note(event any) {
	if obj, ok := event.(object); ok {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.readyIn[obj.GetName()] = readyGeneration(obj)
	}
}

func (o *observed) forget(event any) {
	if unknown, ok := event.(toolscache.DeletedFinalStateUnknown); ok {
		event = unknown.Obj
	}
	if obj, ok := event.(object); ok {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.readyIn, obj.GetName())
	}
}

// allReady is nil when there are that many objects, all of them Ready in that generation; for generation 0, when there is none.
func (o *observed) allReady(generation int64, objects int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if generation == 0 {
		objects = 0
	}
	ready := 0
	for _, in := range o.readyIn {
		if in == generation {
			ready++
		}
	}
	if ready != objects || len(o.readyIn) != objects {
		return fmt.Errorf("%d of %d objects, of which there are %d, are Ready in generation %d", ready, objects, len(o.readyIn), generation)
	}
	return nil
}

// isReady is nil when the nth object is Ready in that generation.
func (o *observed) isReady(n int, generation int64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if in := o.readyIn[nameOf(n)]; in != generation {
		return fmt.Errorf("%s is Ready in generation %d, not %d", nameOf(n), in, generation)
	}
	return nil
}
