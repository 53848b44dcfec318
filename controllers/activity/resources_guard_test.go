package activity

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/activity/internal/guard"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// guardedAttempt is an attempt whose guard comes from the operator's image.
var guardedAttempt = egov1.Attempt{Prosta: egov1.Pending, PodUID: "p1", GuardImage: "operator"}

func TestTheGuardIsBroughtAlong(t *testing.T) {
	for _, level := range []commonv1.SecurityProfile{commonv1.SecurityBaseline, commonv1.SecurityRestricted} {
		a := activityWith(egov1.ActivitySpec{
			Command: "echo", Args: []string{"$X"}, Security: level, ExecUser: "1000:2000", Envs: []string{"A=b"}, ExecCwd: "/srv",
			EnvFrom:    []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{}}},
			Workspace:  egov1.Workspace{ClaimName: "c"},
			PodOptions: commonv1.PodOptions{ImagePullPolicy: corev1.PullAlways},
		}, guardedAttempt)
		p := desiredPod(a, *currentAttempt(a)).Spec
		c, init := p.Containers[0], p.InitContainers[0]
		if !slices.Equal(append(c.Command, c.Args...), []string{"/run/mainstay/guard", "start", "/run/mainstay", "echo", "$$X"}) ||
			c.Image != "busybox" {
			t.Errorf("%s: the command is started by %+v", level, c)
		}
		if !slices.Equal(init.Command, []string{"/guard", "install", "/run/mainstay"}) || init.Image != "operator" || len(p.InitContainers) != 1 {
			t.Errorf("%s: the guard is brought by %+v", level, init)
		}
		if mounts(init) != guard.Dir || init.Env != nil || init.EnvFrom != nil || init.WorkingDir != "" {
			t.Errorf("%s: it sees what is the command's: %+v", level, init)
		}
		if !reflect.DeepEqual(init.SecurityContext, c.SecurityContext) || !reflect.DeepEqual(init.Resources, parts.HelperResources()) ||
			init.ImagePullPolicy != corev1.PullAlways {
			t.Errorf("%s: it is held to other rules: %+v", level, init)
		}
	}
}

func TestTheShellGuardsWhereNothingElseIsJournaled(t *testing.T) {
	for _, args := range [][]string{nil, {"a"}} {
		a := activityWith(egov1.ActivitySpec{Command: "echo", Args: args}, adoptedAttempt)
		p := desiredPod(a, *currentAttempt(a)).Spec
		if p.InitContainers != nil || p.Containers[0].Command[0] != "/bin/sh" {
			t.Errorf("args %q: %+v", args, p)
		}
	}
}

// TestTheMarkReachesTheGuard checks that the guard gets the mark as it is when the container is made, even if the
// user sets the same names.
func TestTheMarkReachesTheGuard(t *testing.T) {
	marked := adoptedAttempt
	marked.StartMarked = true
	spec := egov1.ActivitySpec{Envs: []string{guard.StartMarkEnv + "=x"},
		PodOptions: commonv1.PodOptions{PodAnnotations: map[string]string{annotationStartMark: "x", "a": "b"}}}
	p := desiredPod(activityWith(spec, marked), marked)
	env := p.Spec.Containers[0].Env
	last := env[len(env)-1]
	if last.Name != guard.StartMarkEnv || last.ValueFrom.FieldRef.FieldPath != "metadata.annotations['mainstay-operator.io/started']" {
		t.Errorf("the last variable is %+v", last)
	}
	if len(p.Annotations) != 1 || p.Annotations["a"] != "b" || spec.PodAnnotations[annotationStartMark] != "x" {
		t.Errorf("it is born with %v of %v", p.Annotations, spec.PodAnnotations)
	}
	if script := p.Spec.Containers[0].Command[2]; !strings.HasPrefix(script, escapeDollars(startMarkCheck)) {
		t.Errorf("the guard does not heed it: %s", script)
	}
}

// TestTheGuardLearnsWhatTheUserChose checks what the guard alone gets to know, and when.
func TestTheGuardLearnsWhatTheUserChose(t *testing.T) {
	marked := adoptedAttempt
	marked.StartMarked = true
	brought := guardedAttempt
	brought.StartMarked = true
	none := &egov1.Output{TailBytes: ptr.To[int32](0)}
	for name, c := range map[string]struct {
		attempt egov1.Attempt
		output  *egov1.Output
		want    string
	}{
		"of the last release": {adoptedAttempt, none, "HOME"},
		"the shell's":         {marked, none, "HOME MAINSTAY_HOME MAINSTAY_STARTED"},
		"the operator's":      {brought, nil, "HOME MAINSTAY_HOME MAINSTAY_STARTED"},
		"with output dropped": {brought, none, "HOME MAINSTAY_HOME MAINSTAY_STARTED MAINSTAY_DISCARD_OUTPUT"},
	} {
		t.Run(name, func(t *testing.T) {
			a := activityWith(egov1.ActivitySpec{Envs: []string{"HOME=/srv"}, Output: c.output}, c.attempt)
			var names []string
			for _, e := range desiredPod(a, c.attempt).Spec.Containers[0].Env {
				names = append(names, e.Name)
				if e.Name == guard.ChosenHomeEnv && e.Value != "$(HOME)" { // the kubelet puts /srv there
					t.Errorf("it gets %q", e.Value)
				}
			}
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("got %s, not %s", got, c.want)
			}
		})
	}
}

// TestGuard starts the same container twice, with every shell that this machine has.
func TestGuard(t *testing.T) {
	for _, shell := range [][]string{{"sh"}, {"dash"}, {"bash", "--posix"}, {"bash"}, {"busybox", "sh"}} {
		if _, err := exec.LookPath(shell[0]); err != nil {
			continue
		}
		t.Run(strings.Join(shell, " "), func(t *testing.T) {
			dir := t.TempDir()
			message := filepath.Join(dir, "message")
			script := strings.NewReplacer(guard.Dir, dir, guard.TerminationLog, message).Replace(startMarkCheck + homeCheck + guardScript)
			home, chosen := dir, guard.NoChosenHome
			run := func(mark string) (string, int) {
				words := append(slices.Clone(shell[1:]), "-c", script, "mainstay", "sh", "-c",
					`printf "%s|" "$@" "${MAINSTAY_STARTED-unset}" "$HOME${MAINSTAY_HOME-}"`, "sh", "a b", "$HOME", "")
				command := exec.Command(shell[0], words...) //nolint:gosec // the words are above
				command.Env = append(os.Environ(), guard.StartMarkEnv+"="+mark, "HOME="+home, guard.ChosenHomeEnv+"="+chosen)
				out, err := command.CombinedOutput()
				var exit *exec.ExitError
				if errors.As(err, &exit) {
					return string(out), exit.ExitCode()
				}
				return string(out), 0
			}
			refused := func(mark string) {
				t.Helper()
				if out, code := run(mark); out != "" || code != guard.ExitRefused {
					t.Errorf("%q, exit code %d", out, code)
				}
				said, err := os.ReadFile(message)
				if err != nil || firstLine(string(said)) != guard.StartedBefore {
					t.Errorf("it said %q, %v", said, err)
				}
				if err := os.Remove(message); err != nil {
					t.Error(err)
				}
			}
			refused("test://1") // on a node that lost its disk
			if out, code := run(""); out != "a b|$HOME||unset|"+dir+"|" || code != 0 {
				t.Errorf("first start: %q, exit code %d", out, code)
			}
			refused("")
			for _, c := range [][3]string{
				{"/no/such", guard.NoChosenHome, filepath.Join(dir, guard.HomeFolder)}, {"", guard.NoChosenHome, filepath.Join(dir, guard.HomeFolder)},
				{"/no/such", "/no/such", "/no/such"}, {"/no/such", "", "/no/such"},
			} {
				home, chosen = c[0], c[1]
				if err := os.Remove(filepath.Join(dir, guard.StartFile)); err != nil {
					t.Fatal(err)
				}
				if out, code := run(""); out != "a b|$HOME||unset|"+c[2]+"|" || code != 0 {
					t.Errorf("home %q, chosen %q: %q, exit code %d", home, chosen, out, code)
				}
			}
		})
	}
}
