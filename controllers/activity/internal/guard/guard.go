// Package guard keeps a pod from running its command twice, and reports what only a process
// in the same container can know: what was printed, and how many processes the kernel killed. It is linked into a
// program that is copied for each pod, so it imports as little as it can.
package guard

import (
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/install"
)

const (
	// Dir holds the guard and its start file. It lives and dies with the pod.
	Dir = "/run/mainstay"
	// ProgramFile is the file there that InstallCommand makes: the guard itself.
	ProgramFile = "guard"
	// StartFile is the file there that only one start can make.
	StartFile = "started"

	// StartMarkEnv is the variable that is not empty once the pod's command was seen to run. The
	// command does not see it.
	StartMarkEnv = "MAINSTAY_STARTED"

	// ChosenHomeEnv is the variable that holds the HOME that the user has set. The command does not see it.
	ChosenHomeEnv = "MAINSTAY_HOME"
	// NoChosenHome is its value where the user has set none: the kubelet leaves a reference to no variable as it is.
	NoChosenHome = "$(HOME)"
	// HomeFolder is the folder in Dir that is HOME where the image gives the user none that is writable.
	HomeFolder = "home"
	// DiscardOutputEnv is the variable that is not empty when no output is kept: then not even a checksum of it is
	// reported. The command does not see it.
	DiscardOutputEnv = "MAINSTAY_DISCARD_OUTPUT"

	// InstallCommand is the first argument that has Main install the program.
	InstallCommand = "install"
	// StartCommand is the first argument that has Main start a command.
	StartCommand = "start"

	// ExitRefused is the exit code of a guard that did not start the command; timeout(1)
	// and docker run, too, use it for "did not reach the command".
	ExitRefused = 125
	// StartedBefore is the termination message of a second start.
	StartedBefore = "mainstay: started before"
	// StartFileNotWritten is that of a first start that could not be distinguished from a second.
	StartFileNotWritten = "mainstay: cannot write " + Dir + "/" + StartFile

	// TerminationLog is where the kubelet reads why a container has ended.
	TerminationLog = "/dev/termination-log"
)

// Main does what its arguments say: `install DIR` copies this program into a folder, and
// `start DIR WORD...` runs the command of these words, once for each folder, and appends to log
// a Report on how it went. It says on stderr and in log why it has failed. It returns the exit code.
func Main(args []string, log string) int {
	code, why := ExitRefused, "mainstay: usage: guard install DIR | guard start DIR WORD..."
	switch {
	case len(args) == 2 && args[0] == InstallCommand:
		code, why = installUnlessStarted(args[1])
	case len(args) > 2 && args[0] == StartCommand:
		if code, why = start(args[1], args[2:], log); why == "" {
			return code // of the command, which has said what there is to say
		}
	}
	if why != "" {
		_, _ = io.WriteString(os.Stderr, why+"\n")
		if file, err := os.OpenFile(log, os.O_WRONLY|os.O_TRUNC, 0); err == nil {
			_, _ = io.WriteString(file, why)
			_ = file.Close()
		}
	}
	return code
}

// installUnlessStarted copies this program into dir. It may run again in the same pod, after the command: then it copies nothing.
func installUnlessStarted(dir string) (code int, why string) {
	if _, err := os.Lstat(dir + "/" + StartFile); err == nil {
		return ExitRefused, StartedBefore
	}
	if err := install.Self(dir + "/" + ProgramFile); err != nil {
		return ExitRefused, "mainstay: cannot write the guard: " + err.Error()
	}
	return 0, ""
}

// start runs the command once for each folder, and returns its exit code. why is what keeps it from running.
func start(dir string, command []string, log string) (code int, why string) {
	if os.Getenv(StartMarkEnv) != "" { // though there is no start file: the node has lost its disk
		return ExitRefused, StartedBefore
	}
	file, err := os.OpenFile(dir+"/"+StartFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	switch {
	case os.IsExist(err):
		return ExitRefused, StartedBefore
	case err != nil:
		return ExitRefused, StartFileNotWritten
	}
	if err := file.Close(); err != nil {
		return ExitRefused, StartFileNotWritten
	}
	return runCommand(command, commandEnv(dir), log, os.Getenv(DiscardOutputEnv) == "")
}

// commandEnv returns the variables that the command sees: all but the guard's own, and a HOME that it can write to.
func commandEnv(dir string) []string {
	chosen, isSet := os.LookupEnv(ChosenHomeEnv)
	for _, name := range []string{StartMarkEnv, ChosenHomeEnv} {
		_ = os.Unsetenv(name) // fails for no such name
	}
	if home := dir + "/" + HomeFolder; isSet && chosen == NoChosenHome && !isWritableDir(os.Getenv("HOME")) && makeHome(home) == nil {
		_ = os.Setenv("HOME", home)
	}
	return slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, DiscardOutputEnv+"=") })
}

// isWritableDir reports whether this process may create files there. access(2) also knows a read-only file system.
func isWritableDir(path string) bool {
	const write, search = 2, 1
	info, err := os.Stat(path)
	return err == nil && info.IsDir() && syscall.Access(path, write|search) == nil
}

// makeHome makes a folder for this user alone.
func makeHome(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	return nil
}
