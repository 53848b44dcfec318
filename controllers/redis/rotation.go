package redis

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
	corev1 "k8s.io/api/core/v1"
)

const (
	// passwordOverlap is how long a password is accepted beside the one that replaced it.
	// Kubelet brings a changed Secret into mounted files within its sync period,
	// 1 min, and the delay of its cache,
	// https://kubernetes.io/docs/concepts/configuration/secret/#using-secrets-as-files-from-a-pod;
	// the rest is for applications that look at the file now and then.
	passwordOverlap = 5 * time.Minute
	// maxRetired bounds the passwords that are accepted beside the current one,
	// should somebody change it all the time: the oldest goes first.
	maxRetired = 8
	// maxPasswordBytes is less than a server reads from a client that has not logged in
	// yet, with room to spare.
	maxPasswordBytes = 4096
	// minRecheck bounds how soon a password that is about to expire is looked at again.
	minRecheck = 50 * time.Millisecond
	// certificateReread is how soon a Secret that could not be read is tried again.
	certificateReread = 5 * time.Second

	// annotationFrom on <name>-auth names the user's Secret that its password came from.
	annotationFrom = "mainstay-operator.io/password-from"
	// retiredKey, in <name>-system, lists what is still accepted, and until when.
	retiredKey = "retired"
)

// sha256Hex matches the form in which a password is named to a server.
var sha256Hex = regexp.MustCompile(`^[0-9a-f]{64}$`)

// credentials are the passwords of one Redis. A password of the applications is first wanted, then accepted by
// every node, then published in <name>-auth; the one that was published before it is retired and accepted a
// while longer.
type credentials struct {
	operator, replication string

	wanted    appLogin
	published appLogin // "" while <name>-auth is lost and not yet written again
	retired   []retiredPassword

	problem string // with the Secret that the spec names
	unread  bool   // it could not be read and is tried again
}

// appLogin is a password of the applications.
type appLogin struct {
	password string
	from     string // Secret of the user's that it was read from; "" when it was drawn
}

// retiredPassword is a password that was published before, by its SHA-256.
type retiredPassword struct {
	Digest string    `json:"digest"`
	Until  time.Time `json:"until"` // zero until its successor is published
}

// acceptedDigests are the digests of all passwords that applications may log in with.
func (c credentials) acceptedDigests() []string {
	var list []string
	for _, l := range []appLogin{c.wanted, c.published} {
		if l.password != "" {
			list = append(list, digest(l.password))
		}
	}
	for _, r := range c.retired {
		list = append(list, r.Digest)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// digest identifies all that is accepted: while it is the same, nothing need be told to servers.
func (c credentials) digest() string { return digest(strings.Join(c.acceptedDigests(), " ")) }

// chooseLogin chooses what the applications shall log in with: the user's password, what is known while that
// cannot be had, else a generated one. It generates the system's passwords where they are missing.
func (c credentials) chooseLogin(auth string, password string, generate func() string) credentials {
	switch {
	case auth == "" && (c.wanted.password == "" || c.wanted.from != ""):
		c.wanted = appLogin{password: generate()}
	case auth != "" && password != "":
		c.wanted = appLogin{password: password, from: auth}
	}
	for _, one := range []*string{&c.operator, &c.replication} {
		if *one == "" {
			*one = generate()
		}
	}
	return c
}

// publish publishes the password that every node accepts by now, and retires the one before. Where there was no
// master yet, nobody can be using another.
func (c credentials) publish(used bool) credentials {
	if old := c.published.password; used && old != "" && old != c.wanted.password {
		c.retired = append(slices.Clone(c.retired), retiredPassword{Digest: digest(old)})
	}
	c.published = c.wanted
	current := digest(c.published.password)
	c.retired = slices.DeleteFunc(slices.Clone(c.retired), func(r retiredPassword) bool { return r.Digest == current })
	c.retired = c.retired[max(0, len(c.retired)-maxRetired):]
	return c
}

// isUnpublished reports whether <name>-auth does not say yet what is wanted.
func (c credentials) isUnpublished() bool { return c.wanted.password != "" && c.published != c.wanted }

// startOverlap starts the overlap of what was retired; it returns false when nothing was.
func (c credentials) startOverlap(now time.Time) (credentials, bool) {
	waiting := func(r retiredPassword) bool { return r.Until.IsZero() }
	if c.published.password == "" || !slices.ContainsFunc(c.retired, waiting) {
		return c, false
	}
	c.retired = slices.Clone(c.retired)
	for i := range c.retired {
		if waiting(c.retired[i]) {
			c.retired[i].Until = now.Add(passwordOverlap).UTC().Truncate(time.Second)
		}
	}
	return c, true
}

// dropExpired drops what has been accepted long enough.
func (c credentials) dropExpired(now time.Time) credentials {
	c.retired = slices.DeleteFunc(slices.Clone(c.retired), func(r retiredPassword) bool { return !r.Until.IsZero() && !r.Until.After(now) })
	return c
}

// overlapEnd is when the last overlap ends; zero when there is none.
func (c credentials) overlapEnd() time.Time {
	var last time.Time
	for _, r := range c.retired {
		if r.Until.After(last) {
			last = r.Until
		}
	}
	return last
}

// recheckAfter is how soon there is something to do about the passwords; 0 for nothing.
func (c credentials) recheckAfter(now time.Time) time.Duration {
	var soonest time.Duration
	if c.unread {
		soonest = certificateReread
	}
	for _, r := range c.retired {
		if left := r.Until.Sub(now); !r.Until.IsZero() && (soonest == 0 || left < soonest) {
			soonest = max(left, minRecheck)
		}
	}
	return soonest
}

// retiredJSON is what <name>-system keeps of retired passwords, "" for nothing. Those whose overlap has not
// started are left to the servers' file.
func (c credentials) retiredJSON() string {
	counted := slices.DeleteFunc(slices.Clone(c.retired), func(r retiredPassword) bool { return r.Until.IsZero() })
	if len(counted) == 0 {
		return ""
	}
	text, _ := json.Marshal(counted) // of texts and times there is no error
	return string(text)
}

// credentialsIn are the credentials that our own Secrets hold. Each password of the system is in two of them:
// where they differ, the servers' file knows the right one.
func credentialsIn(binding, system, files corev1.Secret) credentials {
	users := string(files.Data[usersKey])
	known := func(key string) string {
		for _, held := range []corev1.Secret{system, files} {
			if password := string(held.Data[key]); password != "" && strings.Contains(users, digest(password)) {
				return password
			}
		}
		return cmp.Or(string(system.Data[key]), string(files.Data[key]))
	}
	c := credentials{operator: known(wire.Operator), replication: known(wire.Replication)}
	c.published = appLogin{password: string(binding.Data[corev1.BasicAuthPasswordKey]), from: binding.Annotations[annotationFrom]}
	c.wanted = c.published
	_ = json.Unmarshal(system.Data[retiredKey], &c.retired) // what cannot be read is made anew from the servers' file
	c.retired = slices.DeleteFunc(c.retired, func(r retiredPassword) bool { return !sha256Hex.MatchString(r.Digest) })
	for _, hash := range acceptedBy(users) {
		if !slices.Contains(c.acceptedDigests(), hash) {
			c.retired = append(c.retired, retiredPassword{Digest: hash})
		}
	}
	return c
}

// restoreFrom takes the system's passwords from a Secret that somebody put back.
func (c credentials) restoreFrom(system corev1.Secret) credentials {
	c.operator = cmp.Or(string(system.Data[wire.Operator]), c.operator)
	c.replication = cmp.Or(string(system.Data[wire.Replication]), c.replication)
	return c
}

// acceptedBy gives the digests of the applications' passwords in a users' file.
func acceptedBy(users string) []string {
	var hashes []string
	for line := range strings.Lines(users) {
		words := strings.Fields(line)
		if len(words) < 2 || words[1] != application {
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

// passwordIn returns the password, or tells people what they have to mend.
func passwordIn(name string, data map[string][]byte) (password, problem string) {
	password = string(data[corev1.BasicAuthPasswordKey])
	switch {
	case data == nil:
		problem = fmt.Sprintf("there is no Secret %q; create it with a key \"password\"", name)
	case password == "":
		problem = fmt.Sprintf("Secret %q has no key \"password\", or an empty one", name)
	case strings.ContainsFunc(password, unicode.IsControl):
		problem = fmt.Sprintf("key \"password\" of Secret %q holds a control character, such as the newline that echo adds; use echo -n", name)
	case len(password) > maxPasswordBytes:
		problem = fmt.Sprintf("key \"password\" of Secret %q is longer than %d bytes", name, maxPasswordBytes)
	default:
		return password, ""
	}
	return "", problem
}
