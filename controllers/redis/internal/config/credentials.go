package config

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/passwords"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/rotation"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

const (
	// PasswordOverlap is how long a password is accepted as well as the one that replaced it.
	PasswordOverlap = passwords.Overlap
	// MaxFormer bounds the passwords that are accepted as well as the published one,
	// should somebody change it all the time: the oldest goes first.
	MaxFormer = 8
	// MaxPasswordBytes is less than a server reads from a client that has not logged in
	// yet, with room to spare.
	MaxPasswordBytes = 4096
	// minRecheck bounds how soon a password that is about to expire is looked at again.
	minRecheck = 50 * time.Millisecond
	// SecretReread is how soon a Secret that could not be read is tried again.
	SecretReread = passwords.SecretReread

	// AnnotationFrom on <name>-auth names the user's Secret that its password came from.
	AnnotationFrom = "mainstay-operator.io/password-from"
	// FormerKey of <name>-system lists the former passwords that are still accepted, and until when.
	FormerKey = "retired"
)

// sha256Hex matches the form in which a password is named to a server.
var sha256Hex = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Credentials are the passwords of one Redis. A password of the applications is first wanted, then accepted by
// every node, then published in <name>-auth; the one that was published before it is the former one, which is accepted a
// while longer, and then retired.
type Credentials struct {
	Operator, Replication, Backup string
	// Rotation is the last change of these three that a human asked for.
	Rotation Rotation

	Wanted    AppLogin
	Published AppLogin // "" while <name>-auth is lost and not yet written again
	Former    []formerPassword

	Problem string // with the Secret that the spec names
	Unread  bool   // it could not be read and is tried again
}

// AppLogin is a password of the applications.
type AppLogin struct {
	Password string
	From     string // Secret of the user's that it was read from; "" when it was drawn
}

// formerPassword is a password that was published before, by its SHA-256.
type formerPassword struct {
	Digest string    `json:"digest"`
	Until  time.Time `json:"until"` // zero until its successor is published
}

// AcceptedDigests are the digests of all passwords that applications may log in with.
func (c Credentials) AcceptedDigests() []string {
	var list []string
	for _, l := range []AppLogin{c.Wanted, c.Published} {
		if l.Password != "" {
			list = append(list, Digest(l.Password))
		}
	}
	for _, f := range c.Former {
		list = append(list, f.Digest)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// AcceptedDigest is one digest over all accepted passwords of all users. While it stays the same, nothing needs to be sent to
// the servers.
func (c Credentials) AcceptedDigest() string {
	return Digest(strings.Join(slices.Concat(c.AcceptedDigests(), c.OperatorDigests(), c.BackupDigests()), " "))
}

// ChooseLogin chooses the password that applications log in with: that of the user's Secret; the last one while the Secret
// cannot be read; a generated one if the user names none. It generates the passwords of the operator, the
// replicas and the backups if they are missing.
func (c Credentials) ChooseLogin(secretName, password string, generate func() string) Credentials {
	switch {
	case secretName == "" && (c.Wanted.Password == "" || c.Wanted.From != ""):
		c.Wanted = AppLogin{Password: generate()}
	case secretName != "" && password != "":
		c.Wanted = AppLogin{Password: password, From: secretName}
	}
	for _, item := range []*string{&c.Operator, &c.Replication, &c.Backup} {
		if *item == "" {
			*item = generate()
		}
	}
	return c
}

// Publish makes the wanted password the published one; the caller has seen that every node accepts it. The one before is a former
// one, unless there was never a master: then no client can be using it.
func (c Credentials) Publish(hadMaster bool) Credentials {
	if old := c.Published.Password; hadMaster && old != "" && old != c.Wanted.Password {
		c.Former = append(slices.Clone(c.Former), formerPassword{Digest: Digest(old)})
	}
	c.Published = c.Wanted
	current := Digest(c.Published.Password)
	c.Former = slices.DeleteFunc(slices.Clone(c.Former), func(f formerPassword) bool { return f.Digest == current })
	c.Former = c.Former[max(0, len(c.Former)-MaxFormer):]
	return c
}

// IsUnpublished reports whether <name>-auth does not say yet what is wanted.
func (c Credentials) IsUnpublished() bool { return c.Wanted.Password != "" && c.Published != c.Wanted }

// StartOverlap sets when each former password is retired, once its successor is published, and when the stage of a rotation ends.
// It reports whether it set any.
func (c Credentials) StartOverlap(now time.Time) (Credentials, bool) {
	var staged bool
	c.Rotation, staged = c.Rotation.startStage(now)
	waiting := func(f formerPassword) bool { return f.Until.IsZero() }
	if c.Published.Password == "" || !slices.ContainsFunc(c.Former, waiting) {
		return c, staged
	}
	c.Former = slices.Clone(c.Former)
	for i := range c.Former {
		if waiting(c.Former[i]) {
			c.Former[i].Until = rotation.End(now, PasswordOverlap)
		}
	}
	return c, true
}

// RetireExpired retires the former passwords whose overlap has ended.
func (c Credentials) RetireExpired(now time.Time) Credentials {
	c.Former = slices.DeleteFunc(slices.Clone(c.Former), func(f formerPassword) bool { return rotation.HasEnded(f.Until, now) })
	return c
}

// OverlapEnd is when the last overlap ends; zero when there is none.
func (c Credentials) OverlapEnd() time.Time {
	var last time.Time
	for _, f := range c.Former {
		if f.Until.After(last) {
			last = f.Until
		}
	}
	return last
}

// RecheckAfter is how soon there is something to do about the passwords; 0 for nothing.
func (c Credentials) RecheckAfter(now time.Time) time.Duration {
	soonest := rotation.RecheckAfter(c.Rotation.Until, now, rotationRecheck)
	if c.Unread {
		soonest = converge.Soonest(soonest, SecretReread)
	}
	for _, f := range c.Former {
		soonest = converge.Soonest(soonest, rotation.RecheckAfter(f.Until, now, minRecheck))
	}
	return soonest
}

// FormerJSON is what <name>-system keeps of the former passwords whose overlap has started, "" for none. The others are in
// users.acl alone.
func (c Credentials) FormerJSON() string {
	overlapping := slices.DeleteFunc(slices.Clone(c.Former), func(f formerPassword) bool { return f.Until.IsZero() })
	if len(overlapping) == 0 {
		return ""
	}
	text, _ := json.Marshal(overlapping) // of texts and times there is no error
	return string(text)
}

// CredentialsIn reads the credentials from our own Secrets. The passwords of the operator, the replicas and the backups are in
// both system and files. If these differ, the one whose digest is in users.acl is right.
func CredentialsIn(binding, system, files corev1.Secret) Credentials {
	users := string(files.Data[UsersKey])
	known := func(key string) string {
		for _, held := range []corev1.Secret{system, files} {
			if password := string(held.Data[key]); password != "" && strings.Contains(users, Digest(password)) {
				return password
			}
		}
		return cmp.Or(string(system.Data[key]), string(files.Data[key]))
	}
	c := Credentials{Operator: known(wire.Operator), Replication: known(wire.Replication), Backup: known(backup.RedisUser),
		Rotation: rotationIn(system.Data[RotationKey])}
	c.Published = AppLogin{Password: string(binding.Data[corev1.BasicAuthPasswordKey]), From: binding.Annotations[AnnotationFrom]}
	c.Wanted = c.Published
	_ = json.Unmarshal(system.Data[FormerKey], &c.Former) // an unreadable list is rebuilt from users.acl below
	c.Former = slices.DeleteFunc(c.Former, func(f formerPassword) bool { return !sha256Hex.MatchString(f.Digest) })
	for _, hash := range acceptedBy(users) {
		if !slices.Contains(c.AcceptedDigests(), hash) {
			c.Former = append(c.Former, formerPassword{Digest: hash})
		}
	}
	return c
}

// RestoreFrom takes the system's passwords from a Secret that somebody put back.
func (c Credentials) RestoreFrom(system corev1.Secret) Credentials {
	c.Operator = cmp.Or(string(system.Data[wire.Operator]), c.Operator)
	c.Replication = cmp.Or(string(system.Data[wire.Replication]), c.Replication)
	c.Backup = cmp.Or(string(system.Data[backup.RedisUser]), c.Backup)
	return c
}

// acceptedBy gives the digests of the applications' passwords in a users' file.
func acceptedBy(users string) []string {
	var hashes []string
	for line := range strings.Lines(users) {
		words := strings.Fields(line)
		if len(words) < 2 || words[1] != Application {
			continue
		}
		for _, word := range words[2:] {
			if hash, ok := strings.CutPrefix(word, "#"); ok && sha256Hex.MatchString(hash) {
				hashes = append(hashes, hash)
			}
		}
	}
	return hashes
}

// PasswordIn returns the password, or what users have to repair.
func PasswordIn(name string, data map[string][]byte) (password, problem string) {
	return passwords.FromSecret(name, data, MaxPasswordBytes)
}
