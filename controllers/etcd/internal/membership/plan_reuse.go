package membership

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

// startedBefore is recorded as the pod that may start a member of a former object without data. No pod has this UID.
const startedBefore types.UID = "before-this-object"

// reuseVolumes continues with the volumes that a former object of this name has left, if their stamps agree on who the members are. It is
// not ok if there is no such volume.
func (s Situation) reuseVolumes() (Step, bool) {
	data := s.formerClaims()
	if len(data) == 0 {
		return Step{}, false
	}
	if len(s.FormerPods) > 0 {
		return Step{Do: Wait, RequeueAfter: time.Second, Message: fmt.Sprintf(
			"waiting for the pods %s of a former EtcdCluster of this name to end. If nothing deletes them, delete them, and the StatefulSet that "+
				"they are of",
			strings.Join(s.FormerPods, ", "))}, true
	}
	going := slices.DeleteFunc(slices.Clone(data), func(c Claim) bool { return !c.Goes })
	if len(going) > 0 {
		return Step{Do: Wait, RequeueAfter: time.Second, Message: fmt.Sprintf(
			"waiting for the PersistentVolumeClaims %s of a former EtcdCluster of this name to be deleted", namesOfClaims(going))}, true
	}
	stamp, why := s.FormerRecord()
	if why != "" {
		return s.blockOnFormerData(why), true
	}
	if why := s.refuseSpec(stamp); why != "" {
		return s.blockOnFormerData(why), true
	}
	if next, ok := s.blockOnSpec(); ok {
		return next, true
	}
	return Step{Do: ReuseVolumes}, true
}

// refuseSpec returns why this object cannot continue from a record; empty if it can.
func (s Situation) refuseSpec(stamp Stamp) string {
	const again = ": to continue with the volumes, delete this object, and create it again "
	version, _ := ParseVersion(stamp.TargetVersion) // FormerRecord has read it
	switch {
	case s.imageToContinue(version) == "":
		return fmt.Sprintf("this release of the operator has no image of etcd %s, which its members ran", version)
	case s.WantedError == "" && s.Wanted.Minor < version.Minor: // whether its members have agreed on that version, no stamp says
		return fmt.Sprintf("spec.version asks for etcd %s, and its members were to run etcd %s, whose data an earlier version may not read: set "+
			"version to %q; to have an earlier one, restore a backup", s.Wanted.MinorString(), version.MinorString(), version.MinorString())
	case !s.HasStorage:
		return "spec.storage is not set" + again + "with storage"
	case stamp.Login != nil && stamp.Login.Required && !s.RequiresLogin:
		return "its members require a login, and spec.auth is not set" + again + "with auth"
	case s.FromBackup:
		return "spec.bootstrap asks for a backup instead" + again + "without bootstrap"
	case s.Request != nil:
		return "an EtcdRestore asks for a backup instead: to continue with the volumes, delete the EtcdRestore"
	}
	return ""
}

// blockOnFormerData asks a human what to do with volumes that cannot be reused.
func (s Situation) blockOnFormerData(why string) Step {
	return Step{Do: Block, Reason: commonv1.ReasonRecordLost, RequeueAfter: time.Second, Message: fmt.Sprintf(
		"PersistentVolumeClaims %s have the data of a former EtcdCluster of this name, and no member starts on it: %s. Otherwise restore that "+
			"object with its status; or delete the claims, which starts without that data", namesOfClaims(s.formerClaims()), why)}
}

// formerClaims are those that a member has started on.
func (s Situation) formerClaims() []Claim {
	return slices.DeleteFunc(slices.Clone(s.Claims), func(c Claim) bool { return c.Data == "" })
}

// FormerRecord returns the record that is stamped on the claims of a former object, or why there is none to continue from. The latest
// revision counts, if a majority of the voters that it names have it on their own claims: fewer members could not be asked whether the
// record is still true.
func (s Situation) FormerRecord() (stamp Stamp, why string) {
	stamped := map[string]Claim{} // with the latest revision, by member
	last := s.LastStamped()
	for _, claim := range s.Claims {
		found, ok := claim.ReadStamp()
		switch {
		case !ok || found.Revision() < last:
			continue
		case len(stamped) == 0:
			stamp = found
		case found.For("") != stamp.For(""):
			return Stamp{}, fmt.Sprintf("the stamps on the claims contradict each other: %s has another record of revision %d than the rest",
				claim.Name, last)
		}
		stamped[claim.Member] = claim
	}
	if why := s.refuseStamp(stamp); why != "" {
		return Stamp{}, why
	}
	voters := votersOf(stamp.Membership)
	missing := slices.DeleteFunc(slices.Clone(voters), func(m databasev1alpha1.EtcdRecordedMember) bool {
		claim := stamped[m.Name]
		return claim.UID != "" && claim.UID == m.ClaimUID && claim.Data == stamp.Membership.Token
	})
	if len(voters)-len(missing) <= len(voters)/2 {
		var names []string
		for _, m := range missing {
			names = append(names, m.Name)
		}
		return Stamp{}, fmt.Sprintf(
			"the latest stamp, of revision %d, names %d voters, and is not on the own claims of %s, so the others are no majority",
			stamp.Revision(), len(voters), strings.Join(names, ", "))
	}
	return stamp, ""
}

// refuseStamp returns why no cluster can be continued from the latest stamp; empty if nothing is wrong with it.
func (s Situation) refuseStamp(stamp Stamp) string {
	switch others := s.claimsOfOthers(stamp); {
	case stamp.Revision() == 0:
		return "no claim has a stamp that says who the members were"
	case stamp.Unsettled || stamp.Membership.ClusterID == "" || isRecovering(stamp.Membership):
		return "by the stamps on the claims, that cluster was being formed, restored or recovered"
	case len(others) > 0:
		return fmt.Sprintf("the claims have data of several clusters: that of %s is of another one than the latest stamp names",
			namesOfClaims(others))
	}
	for _, m := range stamp.Membership.Members {
		if m.Name != s.MemberName(Ordinal(m.Name)) {
			return fmt.Sprintf("the latest stamp names member %q, which cannot be one of this object", m.Name)
		}
	}
	if _, err := ParseVersion(stamp.TargetVersion); err != nil {
		return "the latest stamp does not say which version ran: " + err.Error()
	}
	return ""
}

// isRecovering reports whether the cluster is being made from the data of one member. A forged stamp may hide that: it has another flag.
func isRecovering(record databasev1alpha1.EtcdMembership) bool {
	return record.Change != nil && record.Change.Type == databasev1alpha1.EtcdRecover
}

// votersOf are the recorded members that count for the majority, whether or not etcd has removed the one that is being removed.
func votersOf(record databasev1alpha1.EtcdMembership) []databasev1alpha1.EtcdRecordedMember {
	return slices.DeleteFunc(slices.Clone(record.Members), func(m databasev1alpha1.EtcdRecordedMember) bool {
		leaves := record.Change != nil && record.Change.Type == databasev1alpha1.EtcdRemove && record.Change.Name == m.Name
		return m.Joined && !m.Ran || leaves
	})
}

// claimsOfOthers are claims with data of another cluster than the stamp names.
func (s Situation) claimsOfOthers(stamp Stamp) []Claim {
	return slices.DeleteFunc(s.formerClaims(), func(c Claim) bool {
		found, ok := c.ReadStamp()
		if ok {
			return found.Membership.Token == stamp.Membership.Token
		}
		return c.Data == stamp.Membership.Token
	})
}

func namesOfClaims(claims []Claim) string {
	var names []string
	for _, claim := range claims {
		names = append(names, claim.Name)
	}
	return strings.Join(names, ", ")
}

// StatusFrom is the status with which a new object continues from a stamp. No pod may start a member without the data that its volume had:
// a member that has lost its data is replaced like any other. The directories that former members have left are not all known.
func (s Situation) StatusFrom(stamp Stamp) databasev1alpha1.EtcdClusterStatus {
	status := *s.Status.DeepCopy()
	record := stamp.Membership.DeepCopy()
	record.FormerDataIDs, record.Restore, record.NamesAllData = nil, nil, false // whatever a stamp says
	for i := range record.Members {
		m := &record.Members[i]
		m.Ran = m.Ran || !m.Joined
		if m.StartedBy == "" {
			m.StartedBy = startedBefore
		}
	}
	version, _ := ParseVersion(stamp.TargetVersion) // FormerRecord has read it
	status.Membership, status.TargetVersion, status.TargetImage = record, stamp.TargetVersion, s.imageToContinue(version)
	status.Login, status.LastRecovery = stamp.Login, stamp.LastRecovery
	status.LastRestore, status.BegunRestoreUIDs = stamp.LastRestore, stamp.BegunRestoreUIDs
	return status
}

// imageToContinue is the image for the version of a former object: that of the spec only if it is for this minor version.
func (s Situation) imageToContinue(v Version) string {
	if s.Image != "" && s.Wanted.Minor == v.Minor {
		return s.Image
	}
	return s.defaultImage(v)
}
