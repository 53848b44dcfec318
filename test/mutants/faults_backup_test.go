package mutants

// Which server a backup reads, and how.
var backups = []mutant{
	{"a dump is of a replica that lags", "../internal/backup/source/redis_node.go",
		"r.Follows(master) && r.Offset >= master.Offset", "r.Follows(master)",
		"TestAReplicaThatLagsIsWaitedFor"},
	{"a dump is of a replica of another history", "../internal/backup/source/redis_node.go",
		"r.Linked && r.ID == master.ID", "r.Linked",
		"TestAReplicaThatLagsIsWaitedFor"},
	{"a dump that begins too early is taken", "../internal/backup/source/redis_node.go",
		"r.IsMaster || id == master.ID && offset >= master.Offset", "true",
		"TestAReplicaThatLagsIsWaitedFor"},
	{"a dump is asked for as a replica does", "../internal/backup/source/redis_dump.go",
		`{"REPLCONF", "rdb-only", "1"},`, "",
		"TestWhatABackupSays"},
	{"who is not on record may stay", "internal/topology/plan_silent.go",
		"len(unrecorded) > 0", "len(unrecorded) > 99",
		"TestSilence/a process that nobody knows is refused"},
	{"whoever is copied to is expelled", "internal/topology/plan_silent.go",
		"if !ours && !slices.Contains(master.Copying, address) {", "if !ours {",
		"TestSilence/one that is being sent all data, as a backup is, is not"},
}
