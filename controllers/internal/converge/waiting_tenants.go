package converge

// waitingTenants are the namespaces that have an object that waits, in the order in which they get workers. The one with the
// fewest workers is first. Among equals, those with an object of ordinary priority and those with objects of low priority alone
// take turns: an edit does not wait for all that exists when a leader starts, and what exists does not wait for ever. Of each of
// the two, the one that was served, or came, longest ago is first.
type waitingTenants struct {
	ordinary  orderedHeap[*tenant] // with an object of ordinary priority
	low       orderedHeap[*tenant] // with objects of low priority alone
	lowIsNext bool                 // among equals, since the last turn was of ordinary priority
}

func newWaitingTenants() waitingTenants {
	return waitingTenants{ordinary: orderedHeap[*tenant]{before: (*tenant).before}, low: orderedHeap[*tenant]{before: (*tenant).before}}
}

// move puts a tenant that has changed to its place, or takes it out if none of its objects waits.
func (w *waitingTenants) move(t *tenant) {
	var among *orderedHeap[*tenant]
	switch {
	case t.waiting.Len() == 0:
	case t.hasLowWorkOnly():
		among = &w.low
	default:
		among = &w.ordinary
	}
	if t.waitsAmong != nil {
		t.waitsAmong.remove(t)
	}
	if t.waitsAmong = among; among != nil {
		among.add(t)
	}
}

// first returns the tenant that is next, nil for none.
func (w *waitingTenants) first() *tenant {
	var ordinary, low *tenant
	if w.ordinary.Len() > 0 {
		ordinary = w.ordinary.first()
	}
	if w.low.Len() > 0 {
		low = w.low.first()
	}
	switch {
	case low == nil:
		return ordinary
	case ordinary == nil, low.busyWorkers < ordinary.busyWorkers, low.busyWorkers == ordinary.busyWorkers && w.lowIsNext:
		return low
	}
	return ordinary
}
