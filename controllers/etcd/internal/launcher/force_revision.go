package launcher

import (
	"bytes"
	"errors"
	"strconv"
)

// RevisionMetric is etcd's metric with the revision of its keys (server/storage/mvcc/metrics.go).
const RevisionMetric = "etcd_debugging_mvcc_current_revision"

// belowAllowedError is the revision, below the one that a human has allowed, at which the data of a recovery ends.
type belowAllowedError int64

func (b belowAllowedError) Error() string { return strconv.FormatInt(int64(b), 10) }

// checkRevision returns a belowAllowedError if the keys of a member that was made a cluster of one end below the revision from which a
// human allowed to continue. etcd drops each entry of the log that it does not know to be committed, and after a power failure the
// member may know of less than it did when it was seen.
func checkRevision(metrics string, allowed int64) error {
	if allowed == 0 {
		return nil
	}
	text, err := ask("http://"+metrics+"/metrics", nil)
	if err != nil {
		return err
	}
	revision, err := revisionIn(text)
	if err == nil && revision < allowed {
		err = belowAllowedError(revision)
	}
	return err
}

// revisionIn reads the revision from metrics in Prometheus' text format.
func revisionIn(metrics []byte) (int64, error) {
	_, rest, _ := bytes.Cut(metrics, []byte("\n"+RevisionMetric+" "))
	value, _, _ := bytes.Cut(rest, []byte("\n"))
	revision, err := strconv.ParseFloat(string(value), 64)
	if err != nil || !(revision >= 1) {
		return 0, errors.New("its metrics have no " + RevisionMetric + " to compare with the revision that a human has allowed")
	}
	return int64(revision), nil
}
