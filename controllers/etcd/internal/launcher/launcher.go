package launcher

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/install"
)

const (
	// ProgramFile is the name of the program, in the operator's image and where a pod finds it.
	ProgramFile = "etcd-launcher"
	// ProgramDir is where a pod finds the program. It lives and dies with the pod.
	ProgramDir = "/run/mainstay"
	// PermitDir has the permit.
	PermitDir = "/run/mainstay-start"
	// PermitFile is the file with the permit, from an annotation of the pod.
	PermitFile = "permit"
	// DataDir has one folder for each data directory.
	DataDir = "/var/lib/etcd"
	// PodUIDEnv is the variable with the pod's UID.
	PodUIDEnv = "POD_UID"
	// TerminationLog is where the kubelet reads why a container has ended.
	TerminationLog = "/dev/termination-log"

	// InstallCommand is the first argument that has Main copy the program into a folder.
	InstallCommand = "install"
	// StartCommand is the first argument that has Main become etcd.
	StartCommand = "start"
	// HandoverCommand is the first argument that has Main wait until the server of this pod does not lead.
	HandoverCommand = "await-handover"

	// ExitFailed is the exit code of a program that could not do what it was asked to.
	ExitFailed = 125
	// ExitDataLost is the exit code of a start that was to continue with data which is not there.
	ExitDataLost = 124
	// DataLost is the termination message of a start whose data is not there, before the name of the data directory.
	DataLost = "mainstay: the data is not there: "
	// ExitUnusable is the exit code of a start from a backup which cannot be restored.
	ExitUnusable = 123
	// Unusable is the termination message of a start from such a backup, before the reason.
	Unusable = "mainstay: the backup cannot be restored: "
	// ExitForeign is the exit code of a first start on a volume that has the log of another cluster.
	ExitForeign = 122
	// Foreign is the termination message of such a start, before the names of the directories.
	Foreign = "mainstay: the volume has the data of another cluster or member: "
	// ExitBelowAllowed is the exit code of a recovery that has ended at an earlier revision than a human has allowed.
	ExitBelowAllowed = 121
	// BelowAllowed is the termination message of such a recovery, before the revision.
	BelowAllowed = "mainstay: the data ends below the revision from which a human allowed to continue, at revision "
	// ExitEarlierState is the exit code of a start whose data is an earlier state of what the member had: its disk was put back.
	ExitEarlierState = 120

	// pollInterval is the time between two looks at the permit. The kubelet writes it within a second of a change.
	pollInterval = 100 * time.Millisecond
)

// Paths are the places that a start reads and writes, as in the constants; a test has others.
type Paths struct {
	Permit, Data, Program, Log string
	// Loopback is the address of a server that no one is to reach.
	Loopback string
}

// InPod are the places in a pod.
var InPod = Paths{Permit: PermitDir + "/" + PermitFile, Data: DataDir, Program: ProgramDir, Log: TerminationLog, Loopback: "127.0.0.1"}

// Main does what its arguments say: `install DIR` copies this program into a folder, and `start WORD...` waits until it may
// start, then becomes etcd by these words and what the permit adds. `await-handover TIME` waits until the server of the same
// pod does not lead, for no longer than a time such as 10s. It says on stderr and in the log why it has failed. It
// returns the exit code, if it returns.
func Main(args []string, at Paths) int {
	err := errors.New("usage: " + ProgramFile + " install DIR | " + ProgramFile + " start WORD... | " + ProgramFile + " await-handover TIME")
	switch {
	case len(args) == 2 && args[0] == InstallCommand:
		err = install.Self(args[1] + "/" + ProgramFile)
	case len(args) > 1 && args[0] == StartCommand:
		err = start(args[1:], at)
	case len(args) == 2 && args[0] == HandoverCommand:
		var limit time.Duration
		if limit, err = time.ParseDuration(args[1]); err == nil {
			awaitHandover(metricsAddress, limit)
		}
	}
	if err == nil {
		return 0
	}
	code, message := exitOf(err)
	_, _ = io.WriteString(os.Stderr, message+"\n")
	if log, err := os.OpenFile(at.Log, os.O_WRONLY|os.O_TRUNC, 0); err == nil {
		_, _ = io.WriteString(log, message)
		_ = log.Close()
	}
	return code
}

// exitOf returns the exit code for an error, and the termination message.
func exitOf(err error) (code int, message string) {
	lost, below := dataLostError(""), belowAllowedError(0)
	switch {
	case errors.As(err, &lost):
		return ExitDataLost, DataLost + lost.Error()
	case errors.As(err, &below):
		return ExitBelowAllowed, BelowAllowed + below.Error()
	case errors.As(err, new(unusableError)):
		return ExitUnusable, Unusable + err.Error()
	case errors.As(err, new(foreignError)):
		return ExitForeign, Foreign + err.Error()
	case errors.As(err, new(earlierStateError)):
		return ExitEarlierState, err.Error()
	}
	return ExitFailed, "mainstay: " + err.Error()
}

// dataLostError names the data directory that is not there.
type dataLostError string

func (d dataLostError) Error() string { return string(d) }

// start waits until the pod may start, and becomes etcd.
func start(command []string, at Paths) error {
	permit, err := awaitStart(command, at)
	if err != nil {
		return err
	}
	command = etcdCommand(command, permit, at.Data+"/"+permit.Data)
	if err := checkLog(permit, at.Data); err != nil {
		return err
	}
	if permit.Force != "" {
		if err := forceOnce(command, permit, at); err != nil {
			return err
		}
	}
	return &fs.PathError{Op: "exec", Path: command[0], Err: syscall.Exec(command[0], command, os.Environ())}
}

// etcdCommand is the command that starts etcd on that data directory: the pod's words, and those of the permit.
func etcdCommand(command []string, permit Permit, data string) []string {
	return append(slices.Clone(command), "--data-dir="+data, "--initial-cluster-state="+permit.State,
		"--initial-cluster-token="+permit.Token, "--initial-cluster="+strings.Join(permit.InitialCluster, ","))
}

// awaitStart waits for a permit for this pod. It checks the data, restores the backup if there is one, and waits until the peers know
// a member that joins. It reads the permit again in each round, as the operator may have written another. It says on stderr what it
// waits for, when that changes.
func awaitStart(command []string, at Paths) (Permit, error) {
	waits := patience{}
	for said := ""; ; {
		permit, err := awaitPermit(at.Permit, os.Getenv(PodUIDEnv))
		if err == nil {
			err = checkData(permit, at)
		}
		if err != nil {
			return permit, err
		}
		what := "waiting to join: "
		if err = waits.bound(restoreOnce(command, permit, at)); err != nil {
			what = "waiting for the backup: "
		} else {
			err = mayJoin(command, permit, at)
		}
		if err == nil || errors.As(err, new(dataLostError)) || errors.As(err, new(unusableError)) || errors.Is(err, errAskedToEnd) {
			return permit, err
		}
		if said != err.Error() {
			said = err.Error()
			_, _ = io.WriteString(os.Stderr, "mainstay: "+what+said+"\n")
		}
		time.Sleep(pollInterval) //nolint:forbidigo // the peers do not notify
	}
}

// awaitPermit reads the permit again and again, until it is for this pod.
func awaitPermit(file, pod string) (Permit, error) {
	for {
		text, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			return Permit{}, err
		}
		var permit Permit
		if json.Unmarshal(text, &permit) == nil && permit.Pod == pod && pod != "" {
			if permit.Data == "" || strings.ContainsAny(permit.Data, "/.") {
				return Permit{}, errors.New("the permit names no data directory: " + permit.Data)
			}
			return permit, nil
		}
		time.Sleep(pollInterval) //nolint:forbidigo // the kubelet swaps a link: there is nothing simpler to wait for
	}
}

// checkData returns a dataLostError if a member that started before does not find its data: its volume was replaced or emptied.
// Starting again under its ID would break the promises that it made with that data. A fresh member gets an empty directory, unless the
// volume has another cluster's data. While that directory is there, the volume is the same. The directories of former members that
// the permit names are deleted before that one is made, and when a member continues with its log.
func checkData(permit Permit, at Paths) error {
	directory, startMark := at.Data+"/"+permit.Data, at.Program+"/began-"+permit.Data // the latter in the pod, not on the volume
	switch _, err := os.Stat(directory); {
	case err == nil && !permit.Ran:
		return os.WriteFile(startMark, nil, 0o600)
	case err == nil:
		if hasLog, err := hasLog(directory); !hasLog || err != nil {
			return cmp.Or(err, error(dataLostError(permit.Data)))
		}
		return dropFormer(permit, at)
	case !os.IsNotExist(err):
		return err
	}
	if _, err := os.Stat(startMark); err == nil || !permit.Fresh || permit.Ran {
		return dataLostError(permit.Data)
	}
	if err := checkForeign(permit, at.Data); err != nil {
		return err
	}
	if err := dropFormer(permit, at); err != nil {
		return err
	}
	if err := makeDurable(directory, at.Data); err != nil {
		return err
	}
	return os.WriteFile(startMark, nil, 0o600)
}

// dropFormer drops what former members have left on the volume.
func dropFormer(permit Permit, at Paths) error {
	for _, former := range permit.Drop {
		if former == "" || strings.ContainsAny(former, "/.") {
			continue // it is none of ours
		}
		if err := errors.Join(os.RemoveAll(at.Data+"/"+former), os.RemoveAll(forcedMarker(at.Data, former)),
			os.RemoveAll(workDir(at.Data, former))); err != nil {
			return err
		}
	}
	return nil
}

// hasLog reports whether etcd would find a log in a data directory, by which it decides whether it continues or starts a new log
// (server/storage/wal, Exist).
func hasLog(directory string) (bool, error) {
	entries, err := os.ReadDir(directory + "/member/wal")
	if err != nil && !os.IsNotExist(err) {
		return false, err
	}
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return filepath.Ext(e.Name()) == ".wal" }), nil
}
