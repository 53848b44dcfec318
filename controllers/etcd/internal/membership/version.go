package membership

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Version is a version of etcd 3.
type Version struct{ Minor, Patch int }

func (v Version) String() string { return fmt.Sprintf("3.%d.%d", v.Minor, v.Patch) }

// MinorString is the version without the patch, as members agree on it.
func (v Version) MinorString() string { return fmt.Sprintf("3.%d", v.Minor) }

// Compare is negative if v is earlier than other, 0 if they are the same, else positive.
func (v Version) Compare(other Version) int {
	return cmp.Or(cmp.Compare(v.Minor, other.Minor), cmp.Compare(v.Patch, other.Patch))
}

// newest are the newest patches that this release knows, by minor version: https://github.com/etcd-io/etcd/releases
var newest = map[int]Version{5: {5, 35}, 6: {6, 16}, 7: {7, 3}}

// FirstMinor is the earliest minor version that can be run.
const FirstMinor = 5

// IsNewest reports whether this release knows no later patch of the same minor version.
func (v Version) IsNewest() bool { return newest[v.Minor] == v }

// NewestMinor is the default for objects that name no version.
const NewestMinor = 7

// earliest is the first version that can be run. Before it, members that were removed may come back after an upgrade to 3.6
// (https://github.com/etcd-io/etcd/issues/20967).
var earliest = Version{5, 26}

// earliestBefore are the versions that a member must have run before the next minor version starts on its data.
//   - 3.5.26 before 3.6: https://github.com/etcd-io/etcd/issues/20967
//   - 3.6.11 before 3.7: https://github.com/etcd-io/website/issues/1165
var earliestBefore = map[int]Version{6: {5, 26}, 7: {6, 11}}

// SnapshotCount is after how many entries the members of a cluster that was formed with 3.5 take a snapshot, and drop what
// came before from their logs, while they run 3.6. etcd's own default is 10,000, which a quiet cluster never reaches.
const SnapshotCount = 100

// dropsOldEntries reports whether old entries must leave the logs before the next version reads them: 3.5 wrote some in a
// format that 3.7 no longer reads, and a member which finds one when it starts panics ("unmarshal should never fail").
func dropsOldEntries(initial, next Version) bool { return initial.Minor < 6 && next.Minor >= 7 }

// exactVersion is what a spec can name as well: a server or a stamp that says 3.7.-1 must lead to no such version.
var exactVersion = regexp.MustCompile(`^3\.(0|[1-9][0-9]{0,2})\.(0|[1-9][0-9]{0,2})$`)

// ParseVersion reads an exact version, such as 3.6.16.
func ParseVersion(text string) (Version, error) {
	found := exactVersion.FindStringSubmatch(text)
	if found == nil {
		return Version{}, fmt.Errorf("%q is no version of etcd 3", text)
	}
	minor, _ := strconv.Atoi(found[1]) // they are digits, and few
	patch, _ := strconv.Atoi(found[2])
	return Version{minor, patch}, nil
}

// ResolveVersion returns the exact version that spec.version asks for. An empty text asks for what runs, and for the default
// where nothing runs. A minor version asks for the patch of it that runs, and for the newest where none does: a release of the
// operator that knows a newer one recreates no pod. The error says what is wrong with the field.
func ResolveVersion(text string, running Version) (Version, error) {
	if text == "" {
		if running != (Version{}) {
			return running, nil
		}
		return newest[NewestMinor], nil
	}
	if minor, is := strings.CutPrefix(text, "3."); is && !strings.Contains(minor, ".") {
		number, _ := strconv.Atoi(minor) // what is no number is in no table
		v, known := newest[number]
		switch {
		case !known:
			return Version{}, fmt.Errorf("this release knows no etcd %s", text)
		case running.Minor == number:
			return running, nil
		}
		return v, nil
	}
	v, err := ParseVersion(text)
	if err != nil {
		return Version{}, err
	}
	if _, known := newest[v.Minor]; !known {
		return Version{}, fmt.Errorf("this release knows no etcd %s", v.MinorString())
	}
	if v.Compare(earliest) < 0 {
		return Version{}, fmt.Errorf("etcd before %s is not supported: members that were removed may come back after an upgrade to 3.6", earliest)
	}
	return v, nil
}

// defaultImage returns the image for a version that the operator brings: the newest patch's, or one of the same repository.
func (s Spec) defaultImage(v Version) string {
	i := v.Minor - FirstMinor
	if i < 0 || i >= len(s.DefaultImages) {
		return ""
	}
	if v.IsNewest() {
		return s.DefaultImages[i]
	}
	return repositoryOf(s.DefaultImages[i]) + ":v" + v.String()
}

// repositoryOf returns an image's name without its tag and digest.
func repositoryOf(image string) string {
	name, _, _ := strings.Cut(image, "@")
	if tag := strings.LastIndexByte(name, ':'); tag > strings.LastIndexByte(name, '/') { // and no port
		return name[:tag]
	}
	return name
}

// IsExact reports whether spec.version names a patch.
func IsExact(text string) bool { return strings.Count(text, ".") == 2 }

// Update returns the newest patch of the minor version that runs, and its default image: what the operator would choose now.
func (s Situation) Update() (Version, string) {
	now, _ := ParseVersion(s.Status.TargetVersion) // none is that of a new cluster
	latest := newest[now.Minor]
	if now.Compare(latest) > 0 {
		latest = now // a patch that is newer than this release
	}
	return latest, s.defaultImage(latest)
}

// imageFor returns the image to run a version with: the spec's, else the one that runs as long as the version stays, else the
// operator's default. So a release of the operator that brings another image recreates no pod.
func (s Situation) imageFor(v Version) string {
	switch {
	case s.Image != "":
		return s.Image
	case v == s.Wanted && v.String() == s.Status.TargetVersion && s.Status.TargetImage != "" && !s.isUntried(s.Status.TargetImage):
		return s.Status.TargetImage
	}
	return s.defaultImage(v)
}

// isUntried reports whether no server has run with an image, and it is not only that the pods are away: others run with another
// image, or no member has ever run. Such an image may be a mistake, which ends when spec.image is removed.
func (s Situation) isUntried(image string) bool {
	hasRun := s.Where(func(m Member) bool { return m.Record != nil && m.Pod.HasRun })
	if slices.ContainsFunc(hasRun, func(m Member) bool { return m.Pod.Image == image }) {
		return false
	}
	return len(hasRun) > 0 || len(s.Where(func(m Member) bool { return m.Record != nil && m.Record.Ran })) == 0
}

// NextVersion returns the version to run after running, on the way to wanted: one minor version at a time, and through those
// patches that the next minor version asks for. It returns an error for the way back to an earlier minor version.
func NextVersion(running, wanted Version) (Version, error) {
	switch {
	case wanted.Minor < running.Minor:
		return running, fmt.Errorf("etcd %s cannot read data that %s has written; restore a backup into a new EtcdCluster",
			wanted.MinorString(), running.MinorString())
	case wanted.Minor == running.Minor:
		return wanted, nil
	case running.Compare(earliestBefore[running.Minor+1]) < 0:
		return newest[running.Minor], nil
	case wanted.Minor == running.Minor+1:
		return wanted, nil
	}
	return newest[running.Minor+1], nil
}
