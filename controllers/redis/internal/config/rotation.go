package config

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/rotation"
)

const (
	// RotationKey of <name>-system keeps a rotation of the operator's own passwords.
	RotationKey = "rotation"

	// FilesOverlap is how long servers accept the next passwords before those are used. A server that restarts reads the users'
	// file that its kubelet mounted, and a kubelet updates that within 90 seconds.
	FilesOverlap = 2 * time.Minute
	// FormerOverlap is how long the former passwords are accepted once the next are used: a backup that has read <name>-backup
	// has yet to log in.
	FormerOverlap = time.Minute
	// rotationRecheck is how soon to look again whether a rotation that is due can continue.
	rotationRecheck = time.Second
)

// OwnPasswords are the passwords of the users that are not the applications'.
type OwnPasswords struct {
	Operator    string `json:"operator"`
	Replication string `json:"replication"`
	Backup      string `json:"backup"`
}

// Rotation is a change of the operator's own passwords that a human asked for. First every server accepts the next ones as well
// as those in use; then the next ones are published, and used; then the former ones are retired. Each stage is in the Secrets before
// the next starts, so that any operator can log in to any server, and any server that restarts is logged in to.
type Rotation struct {
	Request string       `json:"request"`         // digest of the annotation's value
	Other   OwnPasswords `json:"other,omitzero"`  // accepted too: the next ones, or the former ones once the next are used
	Former  bool         `json:"former,omitzero"` // Other are the former ones
	Until   time.Time    `json:"until,omitzero"`  // the end of the stage; zero until the stage is in the Secrets
}

// IsUnderWay reports whether servers accept, or have yet to accept, two of each password.
func (r Rotation) IsUnderWay() bool { return r.Other != OwnPasswords{} }

// isDue reports whether the stage has lasted long enough.
func (r Rotation) isDue(now time.Time) bool { return r.IsUnderWay() && rotation.HasEnded(r.Until, now) }

// StartRotation generates the next passwords if a human asks for them by a value that was not asked with before.
func (c Credentials) StartRotation(request string, generate func() string) Credentials {
	asked := Digest(request)
	switch {
	case request == "" || c.Rotation.IsUnderWay() || c.Rotation.Request == asked:
	case c.Operator == "": // all are about to be generated
		c.Rotation = Rotation{Request: asked}
	default:
		c.Rotation = Rotation{Request: asked, Other: OwnPasswords{Operator: generate(), Replication: generate(), Backup: generate()}}
	}
	return c
}

// PublishNext gives the next passwords to those who log in, if servers have accepted them long enough. It reports whether it did. The
// caller has seen that every server accepts them.
func (c Credentials) PublishNext(now time.Time) (Credentials, bool) {
	next := c.Rotation.Other
	if c.Rotation.Former || !c.Rotation.isDue(now) {
		return c, false
	}
	c.Rotation = Rotation{Request: c.Rotation.Request, Other: OwnPasswords{c.Operator, c.Replication, c.Backup}, Former: true}
	c.Operator, c.Replication, c.Backup = next.Operator, next.Replication, next.Backup
	return c, true
}

// RetireFormer retires the former passwords, if they have been accepted long enough. It reports whether it did. The caller has seen
// that no replica needs them.
func (c Credentials) RetireFormer(now time.Time) (Credentials, bool) {
	if !c.Rotation.Former || !c.Rotation.isDue(now) {
		return c, false
	}
	c.Rotation = Rotation{Request: c.Rotation.Request}
	return c, true
}

// startStage sets when the stage ends, once it is in the Secrets. It reports whether it did.
func (r Rotation) startStage(now time.Time) (Rotation, bool) {
	if !r.IsUnderWay() || !r.Until.IsZero() {
		return r, false
	}
	lasts := FilesOverlap
	if r.Former {
		lasts = FormerOverlap
	}
	r.Until = rotation.End(now, lasts)
	return r, true
}

// HasRotated reports whether a rotation was asked for and has ended: then no server may accept what was used before.
func (r Rotation) HasRotated() bool { return r.Request != "" && !r.IsUnderWay() }

// OperatorDigests are the digests of all passwords that the operator may log in with.
func (c Credentials) OperatorDigests() []string {
	return digestsOf(c.Operator, c.Rotation.Other.Operator)
}

// BackupDigests are the digests of all passwords that a backup may log in with.
func (c Credentials) BackupDigests() []string { return digestsOf(c.Backup, c.Rotation.Other.Backup) }

// digestsOf lists the digests of one password, and of another if there is one, always in the same order: servers need not be
// given the same two again when the second becomes the first.
func digestsOf(password, other string) []string {
	if other == "" {
		return []string{Digest(password)}
	}
	first, second := Digest(password), Digest(other)
	if cmp.Less(second, first) {
		first, second = second, first
	}
	return []string{first, second}
}

// RotationJSON is what <name>-system keeps of the rotation, "" for none.
func (c Credentials) RotationJSON() string {
	if c.Rotation == (Rotation{}) {
		return ""
	}
	text, _ := json.Marshal(c.Rotation) // of texts and a time there is no error
	return string(text)
}

// rotationIn reads what <name>-system keeps. Of one that cannot be read nothing is known: the human's request starts another.
func rotationIn(text []byte) Rotation {
	var r Rotation
	complete := json.Unmarshal(text, &r) == nil
	if o := r.Other; !complete || r.IsUnderWay() && (o.Operator == "" || o.Replication == "" || o.Backup == "") {
		return Rotation{}
	}
	return r
}
