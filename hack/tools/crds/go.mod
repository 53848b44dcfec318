// Modules that hold custom resource definitions of others, which tests install.
module github.com/mainstay-operator/mainstay-operator/hack/tools/crds

go 1.26.3

require (
	github.com/prometheus-operator/prometheus-operator v0.85.0
	sigs.k8s.io/gateway-api v1.4.0
)
