package config

import (
	"path"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// RestoreCommand starts the server from which a backup is loaded: a master that no client can write to. It reads the dump that was
// fetched, and lets the users in that the nodes let in. It checks each value in full, unless a human has named this very backup and
// accepts it unverified: otherwise a dump with a value that does not pass could not be loaded at all.
func (s Spec) RestoreCommand() []string {
	command := []string{s.ServerProgram()}
	list := append([]directive{{"bind", []string{"*", "-::*"}}}, s.listenDirectives()...)
	list = append(append(list, s.rollingDirectives()...), []directive{
		{"protected-mode", []string{"no"}},
		{"aclfile", []string{FilesDir + "/" + UsersKey}},
		{"dir", []string{path.Dir(backup.DataFile)}},
		{"dbfilename", []string{path.Base(backup.DataFile)}},
		{backup.SanitizeDirective, []string{YesNo(!s.loadsUnchecked())}},
		{AppendOnly, []string{"no"}},
		{Snapshots, []string{""}},
		{"repl-diskless-sync", []string{"yes"}},
		{"repl-diskless-sync-delay", []string{"0"}},
		{"repl-ping-replica-period", []string{"1"}},
		{"min-replicas-to-write", []string{"9"}}, // one replica follows
	}...)
	for _, d := range list {
		command = append(append(command, "--"+d.name), d.args...)
	}
	return command
}

// loadsUnchecked reports whether values that a full check refuses are loaded, too.
func (s Spec) loadsUnchecked() bool {
	return s.Bootstrap != nil && s.Bootstrap.Item != "" && s.Bootstrap.AllowUnverified
}
