package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"regexp"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// builtProgram is a line of the Dockerfile that builds a program of the operator's image.
var builtProgram = regexp.MustCompile(`go build [^\n]*-o /([\w-]+) (\.[\w./-]*)`)

// program of the operator's image.
type program struct{ name, source string }

// programsOf are those that the Dockerfile builds, the one that is started first.
func programsOf(dockerfile string) ([]program, error) {
	var programs []program
	for _, found := range builtProgram.FindAllStringSubmatch(dockerfile, -1) {
		programs = append(programs, program{found[1], found[2]})
	}
	if len(programs) == 0 {
		return nil, fmt.Errorf("the Dockerfile has no line that matches %s", builtProgram)
	}
	return programs, nil
}

const authorities = "etc/ssl/certs/ca-certificates.crt"

// operatorImage has the binaries of each architecture, the first of which is started. Besides them it has what the base image of
// the Dockerfile has: users, a folder for temporary files, and the certificates of public authorities, for a backup's store.
func operatorImage(a about, binaries map[string][]file) (v1.ImageIndex, error) {
	base, err := layerOf([]file{
		{"etc/", 0o755, nil},
		{"etc/group", 0o644, []byte("root:x:0:\nnonroot:x:65532:\n")},
		{"etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n")},
		{"etc/ssl/", 0o755, nil}, {"etc/ssl/certs/", 0o755, nil}, {authorities, 0o644, publicAuthorities()},
		{"tmp/", 0o1777, nil},
	})
	if err != nil {
		return nil, err
	}
	layers := map[string][]v1.Layer{}
	for _, architecture := range architectures {
		if len(binaries[architecture]) == 0 {
			return nil, fmt.Errorf("there are no binaries for %s", architecture)
		}
		programs, err := layerOf(binaries[architecture])
		if err != nil {
			return nil, err
		}
		layers[architecture] = []v1.Layer{base, programs}
	}
	return indexOf(a, recipe{
		title: "Mainstay Operator", description: "One Kubernetes operator for the parts that nearly every application needs",
		config: v1.Config{User: "65532:65532", WorkingDir: "/", Entrypoint: []string{"/" + binaries[architectures[0]][0].name},
			Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "SSL_CERT_FILE=/" + authorities}},
		layers: layers,
	})
}

// publicAuthorities are the root certificates that Mozilla trusts without reserve: a file of certificates cannot express the
// limits of the others.
func publicAuthorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return out.Bytes()
}
