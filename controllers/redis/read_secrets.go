package redis

import (
	"context"
	"crypto/rand"

	"sigs.k8s.io/controller-runtime/pkg/log"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/passwords"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

// authField is the field of the spec, as messages name it.
const authField = passwords.SecretField

// readCredentials returns the credentials that this process knows, else those in our own Secrets,
// else random ones; with the applications' password that the user chose. If the user's Secret
// is of no use, that is reported and holds up nothing but the first start.
func (p *pass) readCredentials(ctx context.Context) (config.Credentials, error) {
	c, err := p.knownCredentials(ctx)
	if err != nil {
		return c, err
	}
	password, problem := "", ""
	if p.Spec.AuthSecret != "" {
		password, problem, err = p.userPassword(ctx, p.Spec.AuthSecret)
	}
	c = c.StartRotation(p.Spec.RotationRequest, rand.Text).ChooseLogin(p.Spec.AuthSecret, password, rand.Text).RetireExpired(p.clock.Now())
	c.Problem, c.Unread = problem, err != nil
	switch {
	case len(c.AcceptedDigests()) == 0 && err != nil:
		return c, err
	case len(c.AcceptedDigests()) == 0:
		return c, p.missingPasswordError(problem)
	case err != nil: // what is known remains
		log.FromContext(ctx).Error(err, authField)
	}
	p.known.KeepCredentials(c)
	return c, nil
}

// missingPasswordError reports what is wrong with the Secret of a Redis that never had a password.
func (p *pass) missingPasswordError(problem string) error {
	conditions.SetSecretUnusable(&p.Redis.Status.Conditions, p.Redis.Generation, commonv1.ConditionCredentialsInSync, authField, problem, "")
	return converge.Invalid(authField, "%s", problem)
}

// knownCredentials returns what the servers are believed to run with. An operator that was
// locked out by all of them reads the Secrets again: somebody may have restored one.
func (p *pass) knownCredentials(ctx context.Context) (config.Credentials, error) {
	c, known, lockedOut := p.known.LastCredentials()
	if known && !lockedOut {
		return c, nil
	}
	system, err := p.OwnSecret(ctx, p.Redis, p.Spec.SystemName())
	switch {
	case err != nil:
		return c, err
	case known:
		return c.RestoreFrom(*system), nil
	}
	binding, err := p.OwnSecret(ctx, p.Redis, p.Spec.BindingName())
	if err != nil {
		return c, err
	}
	files, err := p.OwnSecret(ctx, p.Redis, p.Spec.FilesName())
	if err != nil {
		return c, err
	}
	return config.CredentialsIn(*binding, *system, *files), nil
}

// userPassword returns the password in the user's Secret, or what is wrong with it. An
// error means that the Secret could not be read.
func (p *pass) userPassword(ctx context.Context, name string) (password, problem string, err error) {
	data, err := p.Secrets.Data(ctx, p.Redis, name)
	if err != nil {
		return "", "", err
	}
	password, problem = config.PasswordIn(name, data)
	return password, problem, nil
}

// readCertificates returns the certificate that the servers were given, and the one in the user's
// Secret. If the user's is of no use, that is reported and holds up nothing but the first start.
func (p *pass) readCertificates(ctx context.Context) (config.Certificates, error) {
	var c config.Certificates
	if !p.Spec.TLS {
		return c, nil
	}
	if c.Published = p.known.Published; c.Published.IsEmpty() {
		own, err := p.OwnSecret(ctx, p.Redis, p.Spec.CertificatesName())
		if err != nil {
			return c, err
		}
		c.Published = config.PublishedIn(own.Data)
	}
	judge := func(data map[string][]byte) (config.Identity, string) { return p.Spec.IdentityIn(data, p.clock.Now()) }
	var err error
	if c.Certificates, err = p.Secrets.Certificates(ctx, p.Redis, p.Spec.TLSSecret, c.Published, judge, p.clock.Now()); err != nil {
		return c, err
	}
	c.TLSConfig, err = c.Published.TLSConfig(p.Spec.ServiceHost(), p.clock.Now)
	return c, err
}

// readSettings returns the settings that this process knows the servers to have accepted, else
// those in our own Secret. A new Redis has none.
func (p *pass) readSettings(ctx context.Context) (config.Settings, error) {
	if s := p.known.Settings; s.Live != nil {
		return s, nil
	}
	files, err := p.OwnSecret(ctx, p.Redis, p.Spec.FilesName())
	if err != nil {
		return config.Settings{}, err
	}
	return config.SettingsIn(files.Data), nil
}
