package fleet

// puttingBack returns a model whose API server may be put back once to what it has now.
func puttingBack(m *model) *model {
	m.Saved, m.PutBacks = m.clone(), 1
	return m
}

// putBack puts the API server back to what was saved, while servers continue: the object, its children, and the pods. A kubelet ends
// the containers of a pod that no longer exists, and starts those of a pod that exists again. The volume of a claim that was created or
// deleted since is lost.
func putBack(m *model) (bool, error) {
	if m.PutBacks == 0 {
		return false, nil
	}
	m.PutBacks--
	old := m.Saved
	for i := range m.Pods {
		if m.Pods[i].UID == old.Pods[i].UID {
			m.Pods[i].Permit = old.Pods[i].Permit
		} else {
			m.removePod(i)
			m.Pods[i] = old.Pods[i]
			m.Pods[i].Runs, m.Pods[i].Serves, m.Pods[i].Lost, m.Pods[i].Started = false, false, "", ""
		}
		if m.Claims[i] != old.Claims[i] {
			m.removePod(i) // it cannot mount the volume, and a human deletes it with its claim
			m.dropClaim(i)
		} else {
			m.Marks[i], m.Stamps[i] = old.Marks[i], old.Stamps[i]
		}
	}
	m.Size, m.OtherSize, m.FormerSize = old.Size, old.OtherSize, old.FormerSize
	m.Wanted, m.Broken, m.Allowed = old.Wanted, old.Broken, old.Allowed
	m.Replicas, m.Template, m.TemplateBroken, m.Budget, m.SetGone = old.Replicas, old.Template, old.TemplateBroken, old.Budget, old.SetGone
	m.Request, m.Upgrade, m.Cache = old.Request, old.Upgrade, nil
	m.Fetches = append(m.Fetches[:0], old.Fetches...)
	m.Status, m.SavedStatus = old.Status, old.SavedStatus
	m.Version++ // who puts an API server back raises all versions, or watches would miss changes
	m.Held = min(m.Held, m.held())
	return true, nil
}

// isPutBack reports whether the API server was put back. Then the operator may wait for a human: nothing may be lost.
func (m *model) isPutBack() bool { return m.Saved != nil && m.PutBacks == 0 }

// checkFresh returns an error if a cluster starts without data while a member has confirmed writes, and no one has allowed it.
func (m *model) checkFresh() error {
	if held := m.held(); held > 0 && m.Backup == 0 && m.Allowed == "" {
		return broken("a cluster starts without data, and a member has data")
	}
	return nil
}

// forming is a cluster whose members may start, and have not met.
func forming() *model {
	m := newModel(3, true)
	m.startForming()
	return m
}

// startForming has the operator permit the members to start.
func (m *model) startForming() {
	for range 4 { // Form, and one pass for each member that starts
		if _, err := runPass(0)(m); err != nil {
			panic(err)
		}
		for i := range m.Replicas {
			if m.Pods[i].UID == "" {
				m.Pods[i].UID = m.newPodUID(int(i))
			}
		}
	}
}

// replacedSinceBackup is a cluster two of whose members have been replaced since the API server was backed up: the volumes of these are
// lost when it is put back, and the record is one of a cluster that was not seen to form.
func replacedSinceBackup() *model {
	m := forming()
	backup := m.clone()
	for i := range 2 {
		if err := m.settle(); err != nil {
			panic(err)
		}
		m.write()
		m.removePod(i)
		m.dropClaim(i)
	}
	if err := m.settle(); err != nil {
		panic(err)
	}
	m.Saved, m.PutBacks = backup, 1
	return m
}
