// A module of its own, so that the operator's go.mod does not name what only a release needs. What the operator's go.mod names, too,
// has the version that it has there: Go then compiles it once (../tools/versions_test.go).
module github.com/mainstay-operator/mainstay-operator/hack/release

go 1.26.3

replace github.com/mainstay-operator/mainstay-operator => ../..

require (
	github.com/google/go-containerregistry v0.21.7
	github.com/mainstay-operator/mainstay-operator v0.0.0-00010101000000-000000000000
	github.com/spdx/tools-golang v0.5.7
	golang.org/x/crypto/x509roots/fallback v0.0.0-20261030153154-30a33513ff6d
	sigs.k8s.io/yaml v1.6.0
)

require (
	github.com/anchore/go-struct-converter v0.1.0 // indirect
	github.com/docker/cli v29.6.2+incompatible // indirect
	github.com/docker/docker-credential-helpers v0.9.7 // indirect
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/klauspost/compress v1.19.0 // indirect
	github.com/opencontainers/go-digest v1.0.0 // indirect
	github.com/opencontainers/image-spec v1.1.1 // indirect
	github.com/sirupsen/logrus v1.9.4 // indirect
	go.yaml.in/yaml/v2 v2.4.4 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	gotest.tools/v3 v3.5.2 // indirect
)
