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

// guardContainer is the name of the init container that puts the guard into the pod.
const guardContainer = "guard"

// guardScript makes the start file, which only one start can (set -C opens with O_EXCL),
// and becomes the command. Any POSIX /bin/sh can run it.
var guardScript = fmt.Sprintf(`if (set -C; : >%[1]s/%[2]s) 2>/dev/null; then exec "$@"; fi
if [ -e %[1]s/%[2]s ]; then echo '%[3]s'; else echo '%[4]s'; fi >%[5]s
exit %[6]d`, guard.Dir, guard.StartFile, guard.StartedBefore, guard.StartFileNotWritten, guard.TerminationLog, guard.ExitRefused)

// startMarkCheck goes before guardScript in pods that get a start mark. The start file is lost with
// the node's disk, the mark is not: a node that starts over finds it in the pod.
var startMarkCheck = fmt.Sprintf(`if [ -n "$%[1]s" ]; then echo '%[2]s' >%[3]s; exit %[4]d; fi
unset %[1]s
`, guard.StartMarkEnv, guard.StartedBefore, guard.TerminationLog, guard.ExitRefused)

// startMarkEnv returns the variable that holds the mark, as it is when the container is made.
func startMarkEnv() *corev1ac.EnvVarApplyConfiguration {
	return corev1ac.EnvVar().WithName(guard.StartMarkEnv).WithValueFrom(corev1ac.EnvVarSource().
		WithFieldRef(corev1ac.ObjectFieldSelector().WithFieldPath("metadata.annotations['" + annotationStartMark + "']")))
}

// homeCheck goes before guardScript where startMarkCheck does: a HOME that the user has not set, and that is not
// writable, becomes a folder of the pod's own.
var homeCheck = fmt.Sprintf(`if [ "$%[1]s" = '%[2]s' ] && ! { [ -d "$HOME" ] && [ -w "$HOME" ]; }; then
  if mkdir -p -m 700 %[3]s/%[4]s 2>/dev/null; then HOME=%[3]s/%[4]s; export HOME; fi
fi
unset %[1]s
`, guard.ChosenHomeEnv, guard.NoChosenHome, guard.Dir, guard.HomeFolder)

// guardEnv returns the variables that are for the guard. They come last, and so win over the user's of the same name.
func guardEnv(a *egov1.Activity, attempt egov1.Attempt) []*corev1ac.EnvVarApplyConfiguration {
	var all []*corev1ac.EnvVarApplyConfiguration
	if attempt.StartMarked { // the kubelet puts in the HOME of envs or envFrom
		all = append(all, corev1ac.EnvVar().WithName(guard.ChosenHomeEnv).WithValue(guard.NoChosenHome), startMarkEnv())
	}
	if attempt.GuardImage != "" && tailLimit(a) == 0 {
		all = append(all, corev1ac.EnvVar().WithName(guard.DiscardOutputEnv).WithValue("true"))
	}
	return all
}

// withoutStartMark returns the user's annotations without the mark: no pod is created with one.
func withoutStartMark(annotations map[string]string) map[string]string {
	rest := maps.Clone(annotations)
	delete(rest, annotationStartMark)
	return rest
}

// guardCommand returns what is started in place of the command: the operator's guard, which an
// init container installs, or the shell of the command's own image.
func guardCommand(attempt egov1.Attempt) []string {
	switch {
	case attempt.GuardImage == "" && attempt.StartMarked:
		return []string{"/bin/sh", "-c", escapeDollars(startMarkCheck + homeCheck + guardScript), "mainstay"}
	case attempt.GuardImage == "":
		return []string{"/bin/sh", "-c", escapeDollars(guardScript), "mainstay"}
	}
	return []string{guard.Dir + "/" + guard.ProgramFile, guard.StartCommand, guard.Dir}
}

// guardInstaller returns the init container that installs the guard, with only those user settings that rule the pod.
func guardInstaller(a *egov1.Activity, attempt egov1.Attempt) []*corev1ac.ContainerApplyConfiguration {
	if attempt.GuardImage == "" {
		return nil
	}
	return []*corev1ac.ContainerApplyConfiguration{
		parts.WithResources(parts.Container(guardContainer, attempt.GuardImage, a.Spec.PodOptions), parts.HelperResources()).
			WithCommand("/"+guard.ProgramFile, guard.InstallCommand, guard.Dir).
			WithSecurityContext(containerSecurity(a)).
			WithVolumeMounts(mount("guard", guard.Dir)),
	}
}

// userCommand returns the command that the guard becomes.
func userCommand(a *egov1.Activity) []string {
	if len(a.Spec.Args) == 0 {
		return []string{"/bin/sh", "-c", escapeDollars(a.Spec.Command)}
	}
	words := []string{escapeDollars(a.Spec.Command)}
	for _, arg := range a.Spec.Args {
		words = append(words, escapeDollars(arg))
	}
	return words
}

// escapeDollars keeps the kubelet from expanding $(NAME), and from halving $$.
func escapeDollars(text string) string { return strings.ReplaceAll(text, "$", "$$") }
