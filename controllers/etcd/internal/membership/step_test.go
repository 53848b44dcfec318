package membership

import "testing"

func TestPhrase(t *testing.T) {
	for _, c := range []struct {
		step Step
		want string
	}{
		{Step{Do: Idle}, ""},
		{Step{Do: Wait, Message: "waiting for a-1"}, "waiting for a-1"},
		{Step{Do: AddMember, Member: "a-1"}, "adding a-1"},
		{Step{Do: RemoveMember, Member: "a-3", Message: "size is 3"}, "removing a-3: size is 3"},
		{Step{Do: MoveLeader, Member: "a-0", Target: "a-1"}, "moving the lead from a-0 to a-1"},
		{Step{Do: SetVersion, Version: "3.7.3", Image: "etcd:v3.7.3"}, "making pods with version 3.7.3 (etcd:v3.7.3)"},
		{Step{Do: CreateUpgradeBackup, Backup: "a-before-3-7", Message: "etcd cannot go back from 3.7.3"},
			`making EtcdBackup "a-before-3-7": etcd cannot go back from 3.7.3`},
	} {
		t.Run(c.step.String(), func(t *testing.T) {
			if got := c.step.Phrase(); got != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
}
