package activity

import (
	"errors"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/activity/internal/guard"
)

// brought is an attempt whose guard comes from the operator's image.
var brought = egov1.Attempt{Prosta: egov1.Pending, PodUID: "p1", GuardImage: "operator"}

func TestTheGuardIsBroughtAlong(t *testing.T) {
	for _, level := range []commonv1.SecurityProfile{commonv1.SecurityBaseline, commonv1.SecurityRestricted} {
		a := having(egov1.ActivitySpec{
			Command: "echo", Args: []string{"$X"}, Security: level, ExecUser: "1000:2000", Envs: []string{"A=b"}, ExecCwd: "/srv",
			EnvFrom:    []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{}}},
			Workspace:  egov1.Workspace{ClaimName: "c"},
			PodOptions: commonv1.PodOptions{ImagePullPolicy: corev1.PullAlways},
		}, brought)
		p := desired(a, *current(a)).Spec
		c, init := p.Containers[0], p.InitContainers[0]
		if !slices.Equal(append(c.Command, c.Args...), []string{"/run/mainstay/guard", "start", "/run/mainstay", "echo", "$$X"}) || c.Image != "busybox" {
			t.Errorf("%s: the command is started by %+v", level, c)
		}
		if !slices.Equal(init.Command, []string{"/guard", "install", "/run/mainstay"}) || init.Image != "operator" || len(p.InitContainers) != 1 {
			t.Errorf("%s: the guard is brought by %+v", level, init)
		}
		if mounts(init) != guard.Dir || init.Env != nil || init.EnvFrom != nil || init.WorkingDir != "" {
			t.Errorf("%s: it sees what is the command's: %+v", level, init)
		}
		if !reflect.DeepEqual(init.SecurityContext, c.SecurityContext) || !reflect.DeepEqual(init.Resources, c.Resources) || init.ImagePullPolicy != corev1.PullAlways {
			t.Errorf("%s: it is held to other rules: %+v", level, init)
		}
	}
}

func TestTheShellGuardsWhereNothingElseIsJournaled(t *testing.T) {
	for _, args := range [][]string{nil, {"a"}} {
		a := having(egov1.ActivitySpec{Command: "echo", Args: args}, known)
		p := desired(a, *current(a)).Spec
		if p.InitContainers != nil || p.Containers[0].Command[0] != "/bin/sh" {
			t.Errorf("args %q: %+v", args, p)
		}
	}
}

// TestGuard starts the same container twice, in every shell there is here.
func TestGuard(t *testing.T) {
	for _, shell := range [][]string{{"sh"}, {"dash"}, {"bash", "--posix"}, {"bash"}, {"busybox", "sh"}} {
		if _, err := exec.LookPath(shell[0]); err != nil {
			continue
		}
		t.Run(strings.Join(shell, " "), func(t *testing.T) {
			dir := t.TempDir()
			message := filepath.Join(dir, "message")
			script := strings.NewReplacer(guard.Dir, dir, guard.TerminationLog, message).Replace(script)
			run := func() (string, int) {
				words := append(slices.Clone(shell[1:]), "-c", script, "mainstay", "printf", "%s|", "a b", "$HOME", "")
				out, err := exec.Command(shell[0], words...).CombinedOutput() //nolint:gosec // the words are above
				var exit *exec.ExitError
				if errors.As(err, &exit) {
					return string(out), exit.ExitCode()
				}
				return string(out), 0
			}
			if out, code := run(); out != "a b|$HOME||" || code != 0 {
				t.Errorf("first start: %q, exit code %d", out, code)
			}
			if out, code := run(); out != "" || code != guard.Refused {
				t.Errorf("second start: %q, exit code %d", out, code)
			}
			said, err := exec.Command("cat", message).Output() //nolint:gosec // a file of ours
			if err != nil || firstLine(string(said)) != strings.Replace(guard.StartedBefore, guard.Dir, dir, 1) {
				t.Errorf("it said %q, %v", said, err)
			}
		})
	}
}
