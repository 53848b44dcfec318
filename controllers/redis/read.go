package redis

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fleet"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// read reads what the API server has of the object. The Secrets come first: without them no server can be asked.
func (r *Reconciler) read(ctx context.Context, redis *cachev1alpha1.Redis, save converge.SaveStatus) (*pass, error) {
	replaceFormerReason(redis.Status.LastFailover)
	p := r.newPass(redis, save)
	if err := p.readSecrets(ctx); err != nil {
		p.recheck = p.Certificates.RecheckAfter
		return p, err
	}
	if err := p.readWorkload(ctx); err != nil {
		return p, err
	}
	var err error
	if p.Volumes, err = p.listVolumes(ctx); err != nil {
		return p, err
	}
	p.Source, err = p.getSource(ctx)
	return p, err
}

// newPass returns a pass that has read nothing yet.
func (r *Reconciler) newPass(redis *cachev1alpha1.Redis, save converge.SaveStatus) *pass {
	p := &pass{Reconciler: r, known: r.memory.Of(redis)}
	p.effects = &apiEffects{p, save}
	operator := &fleet.Operator{Converger: &r.Converger, Clock: r.clock, Watching: &r.watching}
	p.Fleet = fleet.New(operator, redis, &p.known.Memory, p.effects)
	return p
}

// readSecrets reads what the operator needs to speak with the servers, and what those start with.
func (p *pass) readSecrets(ctx context.Context) (err error) {
	if p.Credentials, err = p.readCredentials(ctx); err != nil {
		return err
	}
	if p.Certificates, err = p.readCertificates(ctx); err != nil {
		return err
	}
	p.acceptedSettings, err = p.readSettings(ctx)
	return err
}

// readWorkload reads the StatefulSet and its pods.
func (p *pass) readWorkload(ctx context.Context) error {
	set, err := p.GetStatefulSet(ctx, p.Redis)
	if err != nil {
		return err
	}
	p.Set, p.Pods = set, nil
	all, err := p.ListPods(ctx, p.Redis, config.AppName)
	for _, pod := range all {
		if !p.Spec.IsNode(pod.Name) {
			continue // somebody else's pod under our labels
		}
		// A pod of an earlier object of this name is no node. A recorded one is ours,
		// also while a StatefulSet that was recreated takes its pods back.
		if owner := metav1.GetControllerOf(&pod); owner == nil || set.UID == "" || owner.UID == set.UID ||
			topology.IsRecorded(p.Redis.Status.Replication, pod.UID) {
			p.Pods = append(p.Pods, pod)
		}
	}
	if set.UID == "" && len(p.Pods) > 0 { // its pods still show what they were made from
		set.Spec.Template = converge.TemplateOf(&p.Pods[0])
	}
	return err
}
