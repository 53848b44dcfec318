package topology

import "time"

// CertificateDelivery is how long to wait before asking again whether a kubelet has brought
// changed files to its pods, which takes it a minute or so.
const CertificateDelivery = 3 * time.Second

// updateCertificates has nodes that use another certificate load the one that was published.
func (s Situation) updateCertificates(Node) (Step, bool) {
	late := s.Where(s.HasOldCertificate)
	return Step{Do: LoadCertificates, NodeNames: NamesOf(late), Message: "another certificate was published",
		RequeueAfter: CertificateDelivery}, len(late) > 0
}

// HasOldCertificate reports whether a server that answers uses another certificate than the published one.
func (w World) HasOldCertificate(m Node) bool {
	return m.Answers() && m.Certificate != w.CertificateFile
}

// CertificatesLoaded reports whether every node is known to use what was published.
func (w World) CertificatesLoaded() bool {
	return w.Count(func(m Node) bool { return !m.Answers() || w.HasOldCertificate(m) }) == 0
}
