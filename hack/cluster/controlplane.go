package main

import (
	"net/http"
	"os"
)

const (
	etcdClients = "https://127.0.0.1:2379"
	etcdPeers   = "http://127.0.0.1:2380"
	etcdHealth  = "http://127.0.0.1:2381"
)

// etcdMember is what the one member is to itself, and in a snapshot that is restored.
var etcdMember = []string{
	"--name=" + nodeName,
	"--initial-advertise-peer-urls=" + etcdPeers,
	"--initial-cluster=" + nodeName + "=" + etcdPeers,
}

func etcdPart(l layout) part {
	return part{
		name: "etcd",
		argv: append([]string{
			l.bin("etcd"),
			"--data-dir=" + l.state("etcd"),
			"--listen-client-urls=" + etcdClients,
			"--advertise-client-urls=" + etcdClients,
			"--listen-peer-urls=" + etcdPeers,
			"--listen-metrics-urls=" + etcdHealth,
			"--client-cert-auth",
			"--trusted-ca-file=" + l.pki("etcd-ca.crt"),
			"--cert-file=" + l.pki("etcd.crt"),
			"--key-file=" + l.pki("etcd.key"),
			"--auto-compaction-retention=1h",
		}, etcdMember...),
		healthy: answers(http.DefaultClient, etcdHealth+"/health"),
	}
}

func apiServerPart(l layout, client *http.Client) part {
	return part{
		name: "kube-apiserver",
		argv: []string{
			l.kubernetesBin("kube-apiserver"),
			"--bind-address=" + nodeAddress,
			"--advertise-address=" + nodeAddress,
			"--service-cluster-ip-range=" + serviceRange,
			"--authorization-mode=Node,RBAC",
			"--enable-admission-plugins=NodeRestriction",
			"--allow-privileged",
			"--client-ca-file=" + l.pki("ca.crt"),
			"--tls-cert-file=" + l.pki("apiserver.crt"),
			"--tls-private-key-file=" + l.pki("apiserver.key"),
			"--etcd-servers=" + etcdClients,
			"--etcd-cafile=" + l.pki("etcd-ca.crt"),
			"--etcd-certfile=" + l.pki("apiserver-etcd-client.crt"),
			"--etcd-keyfile=" + l.pki("apiserver-etcd-client.key"),
			"--kubelet-preferred-address-types=InternalIP,Hostname",
			"--kubelet-certificate-authority=" + l.pki("ca.crt"),
			"--kubelet-client-certificate=" + l.pki("apiserver-kubelet-client.crt"),
			"--kubelet-client-key=" + l.pki("apiserver-kubelet-client.key"),
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			"--service-account-key-file=" + l.pki("sa.pub"),
			"--service-account-signing-key-file=" + l.pki("sa.key"),
			"--requestheader-client-ca-file=" + l.pki("front-proxy-ca.crt"),
			"--requestheader-allowed-names=front-proxy-client",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-",
			"--requestheader-group-headers=X-Remote-Group",
			"--requestheader-username-headers=X-Remote-User",
			"--proxy-client-cert-file=" + l.pki("front-proxy-client.crt"),
			"--proxy-client-key-file=" + l.pki("front-proxy-client.key"),
			// One file, large enough that no count of requests is cut in two.
			"--audit-policy-file=" + l.state("config", "audit.yaml"),
			"--audit-log-path=" + l.state("log", "audit.log"),
			"--audit-log-maxsize=2000",
			"--audit-log-maxbackup=1",
		},
		healthy: answers(client, apiServer+"/readyz"),
	}
}

// rateLimits returns no arguments, so that the defaults of Kubernetes hold, unless CONTROL_PLANE_QPS is set: with the defaults, a
// benchmark of hundreds of objects measures how long controllers and scheduler wait for their next request.
func rateLimits() []string {
	perSecond := os.Getenv("CONTROL_PLANE_QPS")
	if perSecond == "" {
		return nil
	}
	return []string{"--kube-api-qps=" + perSecond, "--kube-api-burst=" + perSecond}
}

func controllerManagerPart(l layout, client *http.Client) part {
	return part{
		name: "kube-controller-manager",
		argv: append([]string{
			l.kubernetesBin("kube-controller-manager"),
			"--kubeconfig=" + l.kubeconfig("controller-manager"),
			"--authentication-kubeconfig=" + l.kubeconfig("controller-manager"),
			"--authorization-kubeconfig=" + l.kubeconfig("controller-manager"),
			"--bind-address=127.0.0.1",
			"--cluster-signing-cert-file=" + l.pki("ca.crt"),
			"--cluster-signing-key-file=" + l.pki("ca.key"),
			"--root-ca-file=" + l.pki("ca.crt"),
			"--client-ca-file=" + l.pki("ca.crt"),
			"--tls-cert-file=" + l.pki("apiserver.crt"),
			"--tls-private-key-file=" + l.pki("apiserver.key"),
			"--service-account-private-key-file=" + l.pki("sa.key"),
			"--use-service-account-credentials",
			"--leader-elect=false", // there is only this one, and it starts at once
		}, rateLimits()...),
		healthy: answers(client, "https://127.0.0.1:10257/healthz"),
	}
}

func schedulerPart(l layout, client *http.Client) part {
	return part{
		name: "kube-scheduler",
		argv: append([]string{
			l.kubernetesBin("kube-scheduler"),
			"--kubeconfig=" + l.kubeconfig("scheduler"),
			"--authentication-kubeconfig=" + l.kubeconfig("scheduler"),
			"--authorization-kubeconfig=" + l.kubeconfig("scheduler"),
			"--bind-address=127.0.0.1",
			"--client-ca-file=" + l.pki("ca.crt"),
			"--tls-cert-file=" + l.pki("apiserver.crt"),
			"--tls-private-key-file=" + l.pki("apiserver.key"),
			"--leader-elect=false",
		}, rateLimits()...),
		healthy: answers(client, "https://127.0.0.1:10259/healthz"),
	}
}
