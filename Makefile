# Mainstay Operator. `make help` lists the targets.

VERSION  ?= 0.2.0
# The published release that VERSION replaces, whose bundle is kept under test/olm. None: 0.2.0 is the first that is published.
PREVIOUS ?=
IMG      ?= ghcr.io/mainstay-operator/mainstay-operator:v$(VERSION)

# The redirection has make ask a shell: older makes take `command` for a program.
ifeq ($(shell command -v go 2>/dev/null),)
$(error go is not in PATH, which is $(PATH): install Go or, if sudo hides it, run: sudo env "PATH=$$PATH" make $(MAKECMDGOALS))
endif

# CLUSTER=local is the cluster that hack/cluster makes on this machine, CLUSTER=existing the one that KUBECONFIG names.
CLUSTER ?= local
# The version of a new local cluster, and of the API server in the integration tests: one of hack/cluster/releases.go, empty for the
# default. A cluster keeps its version.
KUBERNETES ?=
BIN     := $(CURDIR)/.bin
export CLUSTER IMG KUBERNETES VERSION
export PATH := $(BIN):$(PATH)
export CGO_ENABLED := 0
# Go compiles a package once with -trimpath and once without it: with the flag everywhere, each is compiled once. Tests leave
# go vet to `make lint`, which runs it on tests, too: go vet alone would read all dependencies once more. Tests may take half an
# hour for a package, since they share two cores with others: go test's default of ten minutes was exceeded.
testflags := -trimpath -vet=off -timeout=30m
export GOFLAGS := $(filter-out $(testflags),$(shell go env GOFLAGS)) $(testflags)
ifeq ($(CLUSTER),local)
export KUBECONFIG := $(CURDIR)/.cluster/kubeconfig
# The cluster's kubectl, which is of its version.
export PATH := $(CURDIR)/.cluster/bin:$(PATH)
# No proxy leads to the local cluster. hack/internal/proxy sets the same for programs that run without make.
export NO_PROXY := $(or $(NO_PROXY),$(no_proxy),localhost),localhost,127.0.0.0/8,10.88.0.0/16,10.96.0.0/16
export no_proxy := $(NO_PROXY)
endif

comma := ,
# tool builds the tools of one nested module when its go.mod has changed: $(1) is the module, $(2) its programs, $(3) flags of
# go build, $(4) flags of the linker.
define tool
	@hack/tools/build $(1) -ldflags="-s -w $(4)" $(3) && touch $(2)
endef

# Targets are made one after another, whatever -j says, since they share the cluster and the tree. Only `test` runs its two in
# parallel.
ifeq ($(filter test-units test-integration,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

.DEFAULT_GOAL := help
.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Try it
.PHONY: demo demo-down
demo: ## Make a cluster on this machine, run the operator on it and prove every kind.
	go run ./hack/demo

demo-down: ## Take the demo and its cluster away.
	go run ./hack/demo down

##@ Develop
.PHONY: generate manifests new-kind fmt vet lint tidy verify test searches mutants e2e failover-report etcd-report bench build run
generate: $(BIN)/controller-gen $(BIN)/crd-ref-docs ## Generate deep copies and docs/api.md.
	controller-gen object:headerFile=hack/boilerplate.go.txt paths=./api/...
	crd-ref-docs --log-level=ERROR --source-path=api --config=hack/api-docs.yaml --renderer=markdown --output-path=docs/api.md

# The Helm chart makes the ServiceAccount from its values, and the rest of config/rbac from copies.
CHART_RBAC := $(filter-out %/kustomization.yaml %/service_account.yaml,$(wildcard config/rbac/*.yaml))
manifests: $(BIN)/controller-gen ## Generate CRDs, the manager's role and what the Helm chart has of both.
	controller-gen crd rbac:roleName=manager-role paths=./api/... paths=./controllers/... \
	  output:crd:artifacts:config=config/crd/bases output:rbac:artifacts:config=config/rbac
	go run ./hack/crdbounds config/crd/bases
	rm -rf config/helm/files && mkdir -p config/helm/files/crds config/helm/files/rbac
	cp config/crd/bases/*.yaml config/helm/files/crds
	cp $(CHART_RBAC) config/helm/files/rbac

new-kind: ## Write the files of a new kind (GROUP=queue VERSION=v1alpha1 KIND=Queue), then name the places that remain.
	go run ./hack/newkind "$(GROUP)" "$(VERSION)" "$(KIND)"
	$(MAKE) --no-print-directory generate manifests
	-go test ./controllers -run '^TestEach'

fmt: ## Format the code.
	gofmt -w $$(git ls-files '*.go')

vet: ## Vet the code.
	go vet ./...
	go -C hack/cluster vet ./...
	go -C hack/release vet ./...

# These modules have their own go.mod, so that the operator's names neither what the report of EtcdCluster needs, which is much
# of etcd's own tests, nor what draws the plots of the benchmark, nor what the local cluster or a release needs.
ETCD_REPORT := test/e2e/etcd
BENCH_PLOT := test/bench/plot
MODULES := $(ETCD_REPORT) $(BENCH_PLOT) hack/cluster hack/release

lint: $(BIN)/golangci-lint ## Lint the code.
	golangci-lint run
	set -e; for module in $(MODULES); do (cd $$module && golangci-lint run); done

tidy: ## Tidy each go.mod.
	go mod tidy
	set -e; for module in $(MODULES); do go -C $$module mod tidy; done

verify: verify-generated lint ## Fail when anything generated, formatted or linted would differ.

.PHONY: verify-generated
verify-generated: generate manifests bundle fmt tidy
	@git diff --exit-code && test -z "$$(git ls-files --others --exclude-standard api bundle config)" || \
	  { echo "verify: commit what 'make generate manifests bundle fmt tidy' changes"; exit 1; }
	go test ./hack/newkind

test: ## Run the unit and integration tests.
	@$(MAKE) -j2 --no-print-directory --output-sync=target test-units test-integration

# Each of the two waits now and then: together they keep two cores busy, and an API server takes longer to start than alone.
.PHONY: test-programs test-units test-integration
# The tests need the programs alone. Debian starts the services, too: without systemd unless RUNLEVEL says otherwise.
test-programs: $(BIN)/versitygw
	@set -e; missing=; for program in redis-server memcached; do command -v $$program >/dev/null || missing="$$missing $$program"; done; \
	  if [ -n "$$missing" ]; then \
	    apt-get update -qq; RUNLEVEL=1 apt-get install -y -qq --no-install-recommends $$missing; \
	    if [ -d /run/systemd/system ]; then systemctl disable --now --quiet $$missing; fi; \
	  fi
	go run -C hack/cluster . assets

test-units: test-programs
	go test $$(go list ./... | grep -v -e /hack/newkind -e '/test/bench$$' -e /test/chart -e /test/e2e -e /test/integration -e /test/mutants -e /test/olm)
	go test ./test/mutants -run '^TestEachHasOnePlace$$'
	go -C hack/cluster test ./...
	go -C hack/release test ./...
	go -C hack/tools/images test ./...
	go -C $(BENCH_PLOT) test ./...

searches: ## Search the models of Redis and EtcdCluster, Activity's crashes and the backups' walks in full; test-units has the start of each.
	FULL=1 go test -timeout 60m ./controllers/redis/internal/fleet ./controllers/etcd/internal/fleet ./controllers/activity ./controllers/backup \
	  -run '^(TestEveryOrder|TestNoConfirmedWriteIsLost|TestNoOneIsLockedOut|TestCrash|TestWalks)'

test-integration: test-programs
	KUBEBUILDER_ASSETS=$$(go run -C hack/cluster . assets) KUBEBUILDER_CONTROLPLANE_START_TIMEOUT=2m \
	  go run github.com/onsi/ginkgo/v2/ginkgo -procs=4 -ldflags=-w --no-color --timeout=20m ./test/integration

# Little memory in a test is used for long: collecting it less often saves time, also in the API servers.
test-units test-integration searches mutants e2e failover-report: export GOGC := 400
test-units test-integration searches mutants e2e failover-report: export GOMEMLIMIT := 1GiB

mutants: ## Plant known faults into Redis, EtcdCluster, backups, leader election and queue: the named test must find each.
	go test ./test/mutants -count=1 -timeout 40m

# Specs that run operators of their own come after the others, since they remove the deployed one.
E2E = LONG=$(LONG) go run github.com/onsi/ginkgo/v2/ginkgo --procs=6 --ldflags=-w -v --no-color --timeout=$(if $(LONG),5h,50m) $(1) ./test/e2e
e2e: cluster-up deploy $(BIN)/versitygw ## Run the end-to-end tests on real pods (LONG=1: also those that take minutes each).
	$(call E2E)
	$(call E2E,--label-filter=away)

# Creating and deleting 10,000 objects takes most of an hour; the limit allows for a machine that is much slower.
failover-report: cluster-up deploy ## Break Redis in most ways, with LONG=1 in every way, and report what users notice (LONG=1 REPORT=file FOCUS=rows; '10,000' needs both).
	LONG=$(LONG) REPORT=$(abspath $(REPORT)) \
	  go run github.com/onsi/ginkgo/v2/ginkgo --procs=$(if $(LONG),1 --timeout=$(if $(findstring 10$(comma)000,$(FOCUS)),16h,5h),3 --timeout=20m) --ldflags=-w -v --no-color $(if $(FOCUS),--fail-on-empty --focus "$(FOCUS)") ./test/e2e/redis

etcd-report: cluster-up deploy ## Break EtcdCluster in every way, with LONG=1 next to a bare etcd, and have etcd's own model judge (LONG=1 REPORT=file FOCUS=faults).
	@# A long report needs a calm machine: one plan at a time.
	cd $(ETCD_REPORT) && LONG=$(LONG) REPORT=$(abspath $(REPORT)) FOCUS="$(FOCUS)" go test . -v -count=1 -parallel $(if $(LONG),1,3) -timeout $(if $(LONG),4h,15m)

# The default rate limits of Kubernetes, not what is compared, would decide how long both contestants take.
bench: export CONTROL_PLANE_QPS ?= 1000
bench: cluster-up deploy ## Compare what the operator costs with a bare client that writes the same (LONG=1 REPORT=file OBJECTS=numbers ORDER=AB FOCUS=kinds).
	LONG=$(LONG) REPORT=$(abspath $(REPORT)) OBJECTS="$(OBJECTS)" ORDER=$(ORDER) FOCUS="$(FOCUS)" \
	  go test ./test/bench -v -count=1 -timeout $(if $(LONG),6h,2h)
	$(if $(REPORT),go run -C $(BENCH_PLOT) . $(basename $(abspath $(REPORT))))

build: ## Build the manager.
	go build -trimpath -ldflags="-s -w" -o $(BIN)/manager .

run: install ## Run the manager here, against the cluster.
	go run . --health-probe-bind-address=0

##@ A cluster on this machine
.PHONY: cluster-up cluster-down kubeconfig
cluster-up: ## Start a one-node Kubernetes here, or repair it (KUBERNETES=v1.31.14: another version, as for demo, e2e and the reports).
	@if [ "$(CLUSTER)" = local ]; then go run -C hack/cluster . up; fi

cluster-down: ## Stop it and leave nothing behind.
	go run -C hack/cluster . down

kubeconfig: ## Print the path of its kubeconfig.
	@echo $(KUBECONFIG)

##@ Install
.PHONY: install uninstall deploy undeploy docker-build
install: ## Install the CRDs.
	kubectl apply --server-side -k config/crd

uninstall: ## Remove the CRDs and with them every object of ours.
	kubectl delete --ignore-not-found -k config/crd

deploy: ## Install CRDs, rights and manager.
	go run ./hack/demo deploy

undeploy: ## Remove them, every object of ours first.
	go run ./hack/demo undeploy

docker-build: ## Build the image with a container engine.
	docker build -t $(IMG) .

##@ OLM
# The tests that compare the children which the last release made of each kind with those of this one.
KINDS := $(patsubst %/release_test.go,./%,$(wildcard controllers/*/release_test.go controllers/*/internal/children/release_test.go))
OLM := $(addprefix $(BIN)/,olm catalog copy-content cpb opm grpc-health-probe)

# OLM's names of channels are candidate, fast and stable. test/olm compares the channel with the CSV's maturity.
CHANNEL := candidate
# The annotation that names the first version of OpenShift with the CSV's minKubeVersion. test/olm compares both.
OPENSHIFT := com.redhat.openshift.versions v4.18

# The part of the bundle that differs from release to release.
define release
# Written by `make bundle`.
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: mainstay-operator.v0.0.0
  namespace: placeholder
  annotations:
    containerImage: $(IMG)
$(if $(PREVIOUS),    olm.skipRange: '>=$(PREVIOUS) <$(VERSION)'
spec:
  replaces: mainstay-operator.v$(PREVIOUS))
endef

.PHONY: bundle bundle-check cut olm-up olm-e2e run-bundle
bundle: manifests $(BIN)/kustomize $(BIN)/operator-sdk ## Generate and validate the OLM bundle of VERSION.
	$(file >config/manifests/release.yaml,$(release))
	cd config/manager && kustomize edit set image controller=$(IMG)
	sed -i -e 's/^version: .*/version: $(VERSION)/' -e 's/^appVersion: .*/appVersion: v$(VERSION)/' config/helm/Chart.yaml
	operator-sdk generate kustomize manifests -q --apis-dir api --interactive=false
	rm -rf bundle/*
	kustomize build config/manifests | go run ./hack/descriptors config/crd/bases | \
	  operator-sdk generate bundle -q --overwrite --version $(VERSION) --channels=$(CHANNEL) --default-channel=$(CHANNEL)
	@printf '\n  # The catalogs of OpenShift that offer it.\n  %s: %s\n' $(OPENSHIFT) >>bundle/metadata/annotations.yaml
	sed -i '/^# Copy files/i # The catalogs of OpenShift that offer it.\nLABEL $(firstword $(OPENSHIFT))=$(lastword $(OPENSHIFT))\n' bundle.Dockerfile
	@# A bundle that is otherwise the same keeps its date.
	@if git diff --quiet -I'^    createdAt: ' -- bundle; then git checkout -q -- bundle; fi
	operator-sdk bundle validate ./bundle --select-optional suite=operatorframework --optional-values=k8s-version=1.37 -o json-alpha1 | \
	  tee /dev/stderr | grep -q '"outputs": null'
	go run ./hack/installer bundle config/olmv1/roles.yaml

bundle-check: $(BIN)/operator-sdk $(BIN)/crdify $(BIN)/opm $(BIN)/kustomize ## Check bundle and catalog as OLM would, and the upgrade from the last release.
	go test ./test/olm -v -count=1
	go test $(KINDS) -run '^TestAnUpgradeRollsNothing$$' -count=1

cut: bundle ## Keep VERSION, as it is now, under test/olm (PREVIOUS= for the first); then make bundle.
	rm -rf test/olm/v$(VERSION)
	mkdir -p test/olm/v$(VERSION)
	cp -r bundle test/olm/v$(VERSION)/bundle
	go test $(KINDS) -run '^TestAnUpgradeRollsNothing$$' -count=1 -cut=v$(VERSION)
	git rev-parse HEAD > test/olm/v$(VERSION)/commit

olm-up: $(OLM) ## Run Operator Lifecycle Manager on the local cluster.
	go run ./hack/demo olm-up

olm-e2e: $(OLM) ## Install, upgrade and remove the operator by OLM, under load.
	go run ./hack/demo olm-up
	go run ./hack/demo undeploy
	go test ./test/e2e/olm -v -count=1 -timeout 80m -ginkgo.no-color
	go run ./hack/demo undeploy

run-bundle: $(OLM) $(BIN)/operator-sdk ## Run the bundle by operator-sdk, have its scorecard judge it, and clean up.
	go run ./hack/demo run-bundle

##@ Helm
.PHONY: chart-check helm-e2e
chart-check: $(BIN)/helm $(BIN)/kustomize ## Check that the Helm chart renders what kustomize builds, its values, and releases on an API server.
	go run -C hack/cluster . assets
	go test ./test/chart -count=1

helm-e2e: cluster-up $(BIN)/helm ## Install, upgrade and remove the operator by Helm: its objects serve meanwhile.
	go run ./hack/demo undeploy
	go test ./test/e2e/helm -v -count=1 -timeout 30m -ginkgo.no-color
	go run ./hack/demo undeploy

##@ Release
DIST := $(CURDIR)/dist

.PHONY: version digests release release-check release-push release-e2e submission vulncheck
version: ## Print VERSION.
	@echo $(VERSION)

digests: ## Write the digests of the images that objects run by default into hack/release/operands.yaml (REGISTRY=host that has copies).
	go run -C hack/release . digests --registry "$(REGISTRY)" $(CURDIR)/hack/release/operands.yaml

release: bundle $(BIN)/kustomize $(BIN)/opm ## Make VERSION's images, manifests, Helm chart, catalog, SBOMs and checksums in dist/ (OPERANDS=registry).
	go run -C hack/release . build --output $(DIST) --image $(IMG) --version $(VERSION) --operands "$(OPERANDS)" \
	  --revision "$$(git rev-parse HEAD)" --epoch "$$(git log -1 --format=%ct)"
	go run -C hack/release . sums $(DIST)

release-check: ## Compare the checksums, images and digests in dist/.
	go run -C hack/release . check $(DIST)

# push pushes what is in dist/ to the registry $(1).
push = go run -C hack/release . push --registry $(1) $(foreach i,mainstay-operator mainstay-operator-bundle mainstay-operator-catalog,$(DIST)/$(i)-v$(VERSION).tar) $(DIST)/mainstay-operator-$(VERSION).tgz
release-push: ## Push the images and the chart in dist/ by digest, and then tag them (REGISTRY=host of another registry).
	@$(call push,"$(REGISTRY)")

# The node looks for the release's images in the registry of hack/cluster alone, which prints its address and the file of its CA.
release-e2e: cluster-up release $(OLM) $(BIN)/helm ## Install, upgrade, uninstall and purge the release in dist/ by kubectl, Helm and OLM, under load.
	go run ./hack/demo olm-up
	go run ./hack/demo undeploy
	@set -e; printed=$$(go run -C hack/cluster . registry $(firstword $(subst /, ,$(IMG)))); \
	  set -- $$(printf '%s\n' "$$printed" | tail -n 1); \
	  SSL_CERT_FILE="$$2" $(call push,"$$1")
	go test ./test/e2e/release -v -count=1 -timeout 150m -ginkgo.no-color
	go run ./hack/demo undeploy

submission: bundle ## Write what is submitted to the repositories of community operators into dist/submission.
	go run ./hack/submission bundle $(DIST)/submission

# The database of known vulnerabilities is a Go module, too. Programs with their symbols are searched in seconds, the source of all that
# they import in many minutes.
VULNDB ?= latest
vulncheck: $(BIN)/govulncheck ## Name the known vulnerabilities in the operator's programs (VULNDB=version of golang.org/x/vulndb).
	@set -e; programs=$$(mktemp -d); trap 'rm -rf "$$programs"' EXIT; \
	  database=$$(go mod download -json golang.org/x/vulndb@$(VULNDB) | sed -n 's/.*"Dir": "\(.*\)".*/\1/p'); \
	  go build -buildvcs=false -o "$$programs/" $$(go list -f '{{if eq .Name "main"}}{{.ImportPath}}{{end}}' . ./controllers/...); \
	  found=0; for program in "$$programs"/*; do echo "=== $${program##*/}"; \
	    govulncheck -db "file://$$database/data/osv" -mode=binary "$$program" || found=$$?; done; exit $$found

$(BIN)/controller-gen $(BIN)/kustomize &: hack/tools/codegen/go.mod
	$(call tool,codegen,$(BIN)/controller-gen $(BIN)/kustomize)
$(BIN)/crd-ref-docs: hack/tools/apidocs/go.mod
	$(call tool,apidocs,$(BIN)/crd-ref-docs)
$(BIN)/golangci-lint: hack/tools/golangci-lint/go.mod
	$(call tool,golangci-lint,$(BIN)/golangci-lint)
# The version that `operator-sdk version` prints.
stamped := $(foreach v,Version GitVersion ImageVersion,-X github.com/operator-framework/operator-sdk/internal/version.$(v)=v1.42.2)
$(BIN)/operator-sdk: hack/tools/operator-sdk/go.mod
	$(call tool,operator-sdk,$(BIN)/operator-sdk $(BIN)/scorecard-test,-tags containers_image_openpgp,$(stamped))
$(BIN)/govulncheck: hack/tools/vulncheck/go.mod
	$(call tool,vulncheck,$(BIN)/govulncheck)
$(BIN)/versitygw: hack/tools/versitygw/go.mod hack/tools/versitygw/main.go
	$(call tool,versitygw,$(BIN)/versitygw)
$(BIN)/helm: hack/tools/helm/go.mod
	$(call tool,helm,$(BIN)/helm)
$(BIN)/crdify: hack/tools/crdify/go.mod
	$(call tool,crdify,$(BIN)/crdify)
$(OLM) &: hack/tools/olm/go.mod
	$(call tool,olm,$(OLM),-tags json1$(comma)containers_image_openpgp)
