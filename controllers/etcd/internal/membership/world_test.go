package membership

import "testing"

func TestMayAnswer(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*scene)
		view View
		want bool
	}{
		{"itself", nil, View{Answered: true, ID: 101, ClusterID: 12}, true},
		{"nobody", nil, View{}, false},
		{"another member: the address is another pod's by now", nil, View{Answered: true, ID: 102, ClusterID: 12}, false},
		{"a member of another cluster", nil, View{Answered: true, ID: 101, ClusterID: 13}, false},
		{"before it has a recorded ID", func(s *scene) { s.Members[1].Record.ID = "" }, View{Answered: true, ID: 107, ClusterID: 12}, true},
		{"before the cluster has met", func(s *scene) { s.Status.Membership.ClusterID, s.Members[1].Record.ID = "", "" },
			View{Answered: true, ID: 107, ClusterID: 13}, true},
		{"a record that is older than the member", func(s *scene) { s.Members[1].Record.DataID = "former" },
			View{Answered: true, ID: 107, ClusterID: 12}, true},
		{"a record that has no such member", func(s *scene) { s.Members[1].Record = nil }, View{Answered: true, ID: 107, ClusterID: 12}, true},
		{"one that waits, before the cluster was seen to form", func(s *scene) { s.Status.Membership.ClusterID, s.Members[1].Record.ID = "", "" },
			View{Waits: true, ID: 107, Index: 3, Revision: 1}, true},
		{"not one that is to have an ID", func(s *scene) { s.Members[1].Record.ID = "" }, View{Waits: true, ID: 107, Index: 3, Revision: 1},
			false},
		{"one that is yet to read its log is not taken for the member", nil, View{Waits: true, ID: 101, Revision: 1}, false},
		{"no record at all", func(s *scene) { s.Status.Membership = nil; s.Members[1].Record = nil },
			View{Answered: true, ID: 107, ClusterID: 13}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			if c.edit != nil {
				c.edit(s)
			}
			if got := s.Members[1].MayAnswer(c.view, s.Status.Membership); got != c.want {
				t.Errorf("it is taken for the member: %v", got)
			}
		})
	}
}
