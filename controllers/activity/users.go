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

// usersConfigMap is the ConfigMap of a namespace that says who its users are.
const usersConfigMap = "activity-users"

// numericUser matches an execuser that is a uid or uid:gid.
var numericUser = regexp.MustCompile(`^(0|[1-9][0-9]{0,9})(:(0|[1-9][0-9]{0,9}))?$`)

// unknownUserError says that there is no user of that name (yet).
type unknownUserError struct{ message string }

func (u *unknownUserError) Error() string { return "execuser: " + u.message }

func newUnknownUser(format string, args ...any) error {
	return &unknownUserError{fmt.Sprintf(format, args...)}
}

// isNamedUser reports whether execuser is a name that is to be looked up.
func isNamedUser(a *egov1.Activity) bool {
	text := a.Spec.ExecUser
	return text != "" && text != "root" && text != "nobody" && !numericUser.MatchString(text)
}

// resolveUser looks a named execuser up and writes into the status whom it stands for,
// once: a retry runs as the first attempt did.
func (r *Reconciler) resolveUser(ctx context.Context, a *egov1.Activity) error {
	if !isNamedUser(a) || a.Status.ExecUser != "" {
		return nil
	}
	users, err := r.Users.ReadIfChanged(ctx, types.NamespacedName{Namespace: a.Namespace, Name: usersConfigMap}, nil)
	if err != nil {
		return err
	}
	if users.Data == nil { // an event follows when there is one
		return newUnknownUser("%q is to be looked up in ConfigMap %q, which does not exist; create it in this namespace with key %q, whose "+
			"value is a uid or uid:gid",
			a.Spec.ExecUser, usersConfigMap, a.Spec.ExecUser)
	}
	found, err := lookupUser(a, users.Data)
	if err == nil {
		a.Status.ExecUser = found
	}
	return err
}

// lookupUser returns the uid and gid that the name stands for, as uid:gid.
func lookupUser(a *egov1.Activity, users map[string][]byte) (string, error) {
	name := a.Spec.ExecUser
	text, known := users[name]
	value := strings.TrimSpace(string(text))
	uid, gid, _ := parseUser(value)
	switch {
	case !known:
		return "", newUnknownUser("ConfigMap %q has no key %q; add it, its value is a uid or uid:gid", usersConfigMap, name)
	case !numericUser.MatchString(value) || uid < 0 || gid < 0:
		return "", newUnknownUser("key %q of ConfigMap %q must be a uid or uid:gid, each at most 2147483647", name, usersConfigMap)
	case uid == 0 && restricted(a):
		return "", newUnknownUser("%q is uid 0 in ConfigMap %q, which needs security: Baseline", name, usersConfigMap)
	}
	return fmt.Sprintf("%d:%d", uid, gid), nil
}

// awaitedConfigMaps returns the names of the ConfigMaps that an Activity waits for.
func awaitedConfigMaps(o client.Object) []string {
	if a := o.(*egov1.Activity); isNamedUser(a) && a.Status.ExecUser == "" && !prosta(a).Finished() {
		return []string{usersConfigMap}
	}
	return nil
}

// parseUser reads an execuser whose shape was checked; chosen is false when it is empty.
func parseUser(text string) (uid, gid int64, chosen bool) {
	switch text {
	case "":
		return 0, 0, false
	case "root":
		return 0, 0, true
	case "nobody":
		return overflowUID, overflowUID, true
	}
	first, second, both := strings.Cut(text, ":")
	uid = parseID(first)
	gid = uid
	if both {
		gid = parseID(second)
	}
	return uid, gid, true
}

// parseID reads an ID of at most 31 bits, and returns -1 for anything else.
func parseID(text string) int64 {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return int64(n)
	}
	return -1
}
