package redis

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/children"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

// childInputs are what the children are made from.
func (p *pass) childInputs() children.Inputs {
	in := children.Inputs{Redis: p.Redis, Spec: p.Spec, Credentials: p.Credentials, Settings: p.Settings, Image: p.imageFor(p.Set),
		Replicas: p.Situation().DesiredPods(), Identity: p.PublishIdentity(),
		RestartedAt:       p.Set.Spec.Template.Annotations[parts.AnnotationRestartedAt],
		OperatorNamespace: p.Account.Namespace}
	if p.Spec.Storage != nil {
		in.VolumeSize = volumes.SizeOfNew(p.Set, p.Spec.Storage.Size)
	}
	in.Defaults = children.ChooseDefaults(in, converge.StatefulSetWorkload(p.Set, p.Pods, p.PodRefusal(p.Redis)))
	return in
}

// imageFor returns the spec's image, else the one that runs in this StatefulSet, else the operator's default.
func (p *pass) imageFor(set *appsv1.StatefulSet) string {
	if p.Redis.Spec.Image != "" {
		return p.Redis.Spec.Image
	}
	return parts.RunningImage(set.Spec.Template.Spec.Containers, config.AppName, p.DefaultImages[p.Spec.Flavor])
}
