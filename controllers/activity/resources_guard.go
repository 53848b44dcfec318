package activity

import (
	"fmt"
	"maps"
	"strings"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/activity/internal/guard"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// installing is the name of the init container that puts the guard into the pod.
const installing = "guard"

// script makes the marker, which only one start can (set -C opens with O_EXCL),
// and becomes the command. It is spoken by /bin/sh of POSIX.
var script = fmt.Sprintf(`if (set -C; : >%[1]s/%[2]s) 2>/dev/null; then exec "$@"; fi
if [ -e %[1]s/%[2]s ]; then echo '%[3]s'; else echo '%[4]s'; fi >%[5]s
exit %[6]d`, guard.Dir, guard.Marker, guard.StartedBefore, guard.NotMarked, guard.TerminationLog, guard.Refused)

// heeding is put before the script where the pod is marked. The marker is lost with the
// node's disk, the mark is not: a node that begins anew finds it in the pod.
var heeding = fmt.Sprintf(`if [ -n "$%[1]s" ]; then echo '%[2]s' >%[3]s; exit %[4]d; fi
unset %[1]s
`, guard.Mark, guard.StartedBefore, guard.TerminationLog, guard.Refused)

// marked is the variable that holds the mark, as it is when the container is made.
func marked() *corev1ac.EnvVarApplyConfiguration {
	return corev1ac.EnvVar().WithName(guard.Mark).WithValueFrom(corev1ac.EnvVarSource().
		WithFieldRef(corev1ac.ObjectFieldSelector().WithFieldPath("metadata.annotations['" + startMark + "']")))
}

// unmarked are the user's annotations: a pod is not born with a mark.
func unmarked(annotations map[string]string) map[string]string {
	rest := maps.Clone(annotations)
	delete(rest, startMark)
	return rest
}

// guarded is what is started in the place of the command: the operator's guard, which
// an init container brings along, or the shell of the command's own image.
func guarded(attempt egov1.Attempt) []string {
	switch {
	case attempt.GuardImage == "" && attempt.StartMarked:
		return []string{"/bin/sh", "-c", literal(heeding + script), "mainstay"}
	case attempt.GuardImage == "":
		return []string{"/bin/sh", "-c", literal(script), "mainstay"}
	}
	return []string{guard.Dir + "/" + guard.Program, guard.Start, guard.Dir}
}

// installer has nothing of the user's but what rules the whole pod.
func installer(a *egov1.Activity, attempt egov1.Attempt) []*corev1ac.ContainerApplyConfiguration {
	if attempt.GuardImage == "" {
		return nil
	}
	return []*corev1ac.ContainerApplyConfiguration{
		parts.Container(installing, attempt.GuardImage, a.Spec.PodOptions).
			WithCommand("/"+guard.Program, guard.Install, guard.Dir).
			WithSecurityContext(containerSecurity(a)).
			WithVolumeMounts(mount("guard", guard.Dir)),
	}
}

// command is what the guard becomes.
func command(a *egov1.Activity) []string {
	if len(a.Spec.Args) == 0 {
		return []string{"/bin/sh", "-c", literal(a.Spec.Command)}
	}
	words := []string{literal(a.Spec.Command)}
	for _, arg := range a.Spec.Args {
		words = append(words, literal(arg))
	}
	return words
}

// literal keeps the kubelet from expanding $(NAME), and from halving $$.
func literal(text string) string { return strings.ReplaceAll(text, "$", "$$") }
