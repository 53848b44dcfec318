package etcd

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

func bindingName(e *databasev1alpha1.EtcdCluster) string { return e.Name + "-binding" }

// hasBinding reports whether clients can be told how to connect: with auth that takes a user who is let in.
func hasBinding(e *databasev1alpha1.EtcdCluster, l logins) bool {
	return e.Status.Membership != nil && (e.Spec.Auth == nil || l.published.user != "")
}

// bindingSecret holds what a client needs, https://servicebinding.io/spec/core/1.1.0/#provisioned-service. A client that knows all
// voters waits less when one of them ends than one that knows the Service alone; a learner would refuse it.
func bindingSecret(e *databasev1alpha1.EtcdCluster, c childInputs) *corev1ac.SecretApplyConfiguration {
	var endpoints []string
	for _, name := range votersOnRecord(e) {
		endpoints = append(endpoints, clientURL(e, c.spec.Host(name)))
	}
	data := map[string][]byte{
		"type": []byte("etcd"), "host": []byte(c.spec.ServiceHost()), "port": []byte(strconv.Itoa(wire.ClientPort)),
		"uri": []byte(clientURL(e, c.spec.ServiceHost())), "endpoints": []byte(strings.Join(endpoints, ","))}
	if e.Spec.TLS != nil {
		data["ssl"], data[pki.CACertKey] = []byte("true"), c.identity.Authorities
	}
	if e.Spec.Auth != nil {
		data[corev1.BasicAuthUsernameKey], data[corev1.BasicAuthPasswordKey] = []byte(c.logins.published.user), []byte(c.logins.published.password)
	}
	return newSecret(e, bindingName(e), data)
}
