package etcd

import (
	"strconv"
	"strings"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

func bindingName(e *databasev1alpha1.EtcdCluster) string { return e.Name + "-binding" }

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
	return newSecret(e, bindingName(e), data)
}
