// Package guard keeps a pod from running its command twice where the image need not
// have a shell. It is linked into a program that is copied for each pod, so it imports
// as little as it can.
package guard

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
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

	// InstallCommand is the first argument that has Main install the program.
	InstallCommand = "install"
	// StartCommand is the first argument that has Main start a command.
	StartCommand = "start"

	// ExitRefused is the exit code of a guard that did not start the command; timeout(1)
	// and docker run, too, use it for "did not get as far as the command".
	ExitRefused = 125
	// StartedBefore is the termination message of a second start.
	StartedBefore = "mainstay: started before"
	// StartFileNotWritten is that of a first start that could not be told from a second.
	StartFileNotWritten = "mainstay: cannot write " + Dir + "/" + StartFile

	// TerminationLog is where the kubelet reads why a container has ended.
	TerminationLog = "/dev/termination-log"
)

// Main does what its arguments say: `install DIR` copies this program into a folder, and
// `start DIR WORD...` becomes the command of these words, once for each folder. It says
// on stderr and in log why it has failed. It returns the exit code, if it returns.
func Main(args []string, log string) int {
	code, why := ExitRefused, "mainstay: usage: guard install DIR | guard start DIR WORD..."
	switch {
	case len(args) == 2 && args[0] == InstallCommand:
		code, why = install(args[1])
	case len(args) > 2 && args[0] == StartCommand:
		code, why = start(args[1], args[2:])
	}
	if code != 0 {
		_, _ = io.WriteString(os.Stderr, why+"\n")
		if file, err := os.OpenFile(log, os.O_WRONLY|os.O_TRUNC, 0); err == nil {
			_, _ = io.WriteString(file, why)
			_ = file.Close()
		}
	}
	return code
}

// install copies this program into dir, whole or not at all. It may run again in the same
// pod, after the command: then it puts nothing there any more.
func install(dir string) (code int, why string) {
	if _, err := os.Lstat(dir + "/" + StartFile); err == nil {
		return ExitRefused, StartedBefore
	}
	program := dir + "/" + ProgramFile
	err := copySelf(program + ".new")
	if err == nil {
		err = os.Rename(program+".new", program)
	}
	if err != nil {
		return ExitRefused, "mainstay: cannot write the guard: " + err.Error()
	}
	return 0, ""
}

// copySelf copies this program to a file that everybody may run, whatever the umask.
func copySelf(to string) error {
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	if err == nil {
		err = file.Chmod(0o755)
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

// start becomes the command, and returns only when it cannot or must not.
func start(dir string, command []string) (code int, why string) {
	if os.Getenv(StartMarkEnv) != "" { // though there is no start file: the node has lost its disk
		return ExitRefused, StartedBefore
	}
	if err := os.Unsetenv(StartMarkEnv); err != nil {
		return ExitRefused, StartFileNotWritten
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
	return execCommand(command)
}

const (
	// exitNotExecutable and exitNotFound are a shell's exit codes for a command that it did not start.
	exitNotExecutable = 126
	exitNotFound      = 127
)

// execCommand becomes the command, and looks for its first word in every folder of PATH, as a shell does.
func execCommand(command []string) (code int, why string) {
	word, path := command[0], os.Getenv("PATH")
	code, why = exitNotFound, word+" is in no folder of PATH, "+path
	files := []string{word}
	if strings.Contains(word, "/") {
		why = "the image has no " + word
	} else {
		files = candidatePaths(strings.Split(path, ":"), word)
	}
	for _, file := range files {
		err := syscall.Exec(file, command, os.Environ())
		_, missing := os.Stat(file)
		absent := errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR)
		switch {
		case absent && missing != nil:
		case errors.Is(err, syscall.EACCES): // there may be another in a later folder
			code, why = exitNotExecutable, file+": "+err.Error()
		case absent:
			return exitNotExecutable, "mainstay: command: the image lacks the interpreter or loader of " + file
		default:
			return exitNotExecutable, "mainstay: command: " + file + ": " + err.Error()
		}
	}
	return code, "mainstay: command: " + why
}

// candidatePaths returns the file's path in each folder; an empty folder is the working directory.
func candidatePaths(folders []string, file string) []string {
	files := make([]string, 0, len(folders))
	for _, folder := range folders {
		if folder == "" {
			folder = "."
		}
		files = append(files, folder+"/"+file)
	}
	return files
}
