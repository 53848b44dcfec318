package activity

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
)

// usersMap is the ConfigMap of a namespace that says who its users are.
const usersMap = "activity-users"

// numbers is what execuser takes as well.
var numbers = regexp.MustCompile(`^(0|[1-9][0-9]{0,9})(:(0|[1-9][0-9]{0,9}))?$`)

// nobodyKnown is a name that stands for nobody (yet).
type nobodyKnown struct{ text string }

func (n *nobodyKnown) Error() string { return "execuser: " + n.text }

func unknown(format string, args ...any) error { return &nobodyKnown{fmt.Sprintf(format, args...)} }

// named is true for an execuser that is to be looked up.
func named(a *egov1.Activity) bool {
	text := a.Spec.ExecUser
	return text != "" && text != "root" && text != "nobody" && !numbers.MatchString(text)
}

// identify looks a named execuser up and writes into the status whom it stands for,
// once: a retry runs as the first attempt did.
func (r *Reconciler) identify(ctx context.Context, a *egov1.Activity) error {
	if !named(a) || a.Status.ExecUser != "" {
		return nil
	}
	var users corev1.ConfigMap
	at := types.NamespacedName{Namespace: a.Namespace, Name: usersMap}
	err := r.Get(ctx, at, &users) // the cache knows that it is there, and an event follows when it is not yet
	if err == nil {
		err = r.Live.Get(ctx, at, &users)
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading ConfigMap %q: %w", usersMap, err)
	}
	if err != nil {
		return unknown("%q is to be looked up in ConfigMap %q, which does not exist; create it in this namespace with key %q, whose value is a uid or uid:gid",
			a.Spec.ExecUser, usersMap, a.Spec.ExecUser)
	}
	found, err := lookup(a, users.Data)
	if err == nil {
		a.Status.ExecUser = found
	}
	return err
}

// lookup gives the uid and gid that the name stands for.
func lookup(a *egov1.Activity, users map[string]string) (string, error) {
	name := a.Spec.ExecUser
	value, known := users[name]
	value = strings.TrimSpace(value)
	uid, gid, _ := user(value)
	switch {
	case !known:
		return "", unknown("ConfigMap %q has no key %q; add it, its value is a uid or uid:gid", usersMap, name)
	case !numbers.MatchString(value) || uid < 0 || gid < 0:
		return "", unknown("key %q of ConfigMap %q must be a uid or uid:gid, each at most 2147483647", name, usersMap)
	case uid == 0 && restricted(a):
		return "", unknown("%q is uid 0 in ConfigMap %q, which needs security: Baseline", name, usersMap)
	}
	return fmt.Sprintf("%d:%d", uid, gid), nil
}

// byUsers maps the ConfigMap of a namespace to those who wait for it.
func (r *Reconciler) byUsers() (handler.EventHandler, predicate.Predicate) {
	waiting := func(ctx context.Context, users client.Object) []reconcile.Request {
		var list egov1.ActivityList
		if err := r.List(ctx, &list, client.InNamespace(users.GetNamespace())); err != nil {
			log.FromContext(ctx).Error(err, "who waits for the ConfigMap", "namespace", users.GetNamespace(), "name", users.GetName())
			return nil
		}
		var all []reconcile.Request
		for i := range list.Items {
			if a := &list.Items[i]; named(a) && a.Status.ExecUser == "" && !prosta(a).Finished() {
				all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(a)})
			}
		}
		return all
	}
	return handler.EnqueueRequestsFromMapFunc(waiting),
		predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == usersMap })
}

// user reads execuser, whose shape was checked.
func user(text string) (uid, gid int64, chosen bool) {
	switch text {
	case "":
		return 0, 0, false
	case "root":
		return 0, 0, true
	case "nobody":
		return nobody, nobody, true
	}
	first, second, both := strings.Cut(text, ":")
	uid = number(first)
	gid = uid
	if both {
		gid = number(second)
	}
	return uid, gid, true
}

// number of 31 bits; -1 for anything else.
func number(text string) int64 {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return int64(n)
	}
	return -1
}
