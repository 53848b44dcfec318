package redis

import "time"

// certificateDelivery is how long to wait before asking again whether a kubelet has brought
// changed files to its pods, which takes it a minute or so.
const certificateDelivery = 3 * time.Second

// updateCertificates has nodes that use another certificate load the one that was published.
func (s situation) updateCertificates(member) (step, bool) {
	late := s.where(s.hasOldCertificate)
	return step{do: loadCertificates, nodes: namesOf(late), message: "another certificate was published", requeueAfter: certificateDelivery}, len(late) > 0
}

func (w world) hasOldCertificate(m member) bool {
	return m.answers() && m.Certificate != w.certificateFile
}

// certificatesLoaded reports whether every node is known to use what was published.
func (w world) certificatesLoaded() bool {
	return w.count(func(m member) bool { return !m.answers() || w.hasOldCertificate(m) }) == 0
}
