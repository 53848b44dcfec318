package activity

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	users, err := r.Users.Read(ctx, types.NamespacedName{Namespace: a.Namespace, Name: usersMap}, nil)
	if err != nil {
		return err
	}
	if users.Data == nil { // an event follows when there is one
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
func lookup(a *egov1.Activity, users map[string][]byte) (string, error) {
	name := a.Spec.ExecUser
	text, known := users[name]
	value := strings.TrimSpace(string(text))
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

// usersMaps are the ConfigMaps that an Activity waits for.
func usersMaps(o client.Object) []string {
	if a := o.(*egov1.Activity); named(a) && a.Status.ExecUser == "" && !prosta(a).Finished() {
		return []string{usersMap}
	}
	return nil
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
