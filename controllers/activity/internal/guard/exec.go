package guard

import (
	"errors"
	"os"
	"strings"
	"syscall"
)

const (
	// exitNotExecutable and exitNotFound are a shell's exit codes for a command that it did not start.
	exitNotExecutable = 126
	exitNotFound      = 127
)

// startCommand starts the command with these files as its first ones, and looks for its first word in every folder
// of PATH, as a shell does. It returns a pid, or the exit code and why there is none.
func startCommand(command, env []string, files []uintptr) (pid, code int, why string) {
	word, path := command[0], os.Getenv("PATH")
	code, why = exitNotFound, word+" is in no folder of PATH, "+path
	candidates := []string{word}
	if strings.Contains(word, "/") {
		why = "the image has no " + word
	} else {
		candidates = candidatePaths(strings.Split(path, ":"), word)
	}
	// The command leads its session and its group, as a container's first process does: kill(0) does not reach the guard.
	attributes := &syscall.ProcAttr{Env: env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true}}
	for _, file := range candidates {
		pid, err := syscall.ForkExec(file, command, attributes)
		_, missing := os.Stat(file)
		absent := errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR)
		switch {
		case err == nil:
			return pid, 0, ""
		case absent && missing != nil:
		case errors.Is(err, syscall.EACCES): // there may be another in a later folder
			code, why = exitNotExecutable, file+": "+err.Error()
		case absent:
			return 0, exitNotExecutable, "mainstay: command: the image lacks the interpreter or loader of " + file
		default:
			return 0, exitNotExecutable, "mainstay: command: " + file + ": " + err.Error()
		}
	}
	return 0, code, "mainstay: command: " + why
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
