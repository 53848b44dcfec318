package main

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // SPDX asks for it, next to SHA-256
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"
	"github.com/spdx/tools-golang/utils"
)

const (
	unknown = "NOASSERTION"
	license = "Apache-2.0"
)

// sbom describes an image in SPDX 2.3: its files, and the Go modules that its programs are built from, as each program names them.
// The same image gives the same bytes.
func sbom(a about, image releaseImage) ([]byte, error) {
	digest, err := image.index.Digest()
	if err != nil {
		return nil, err
	}
	files, err := filesOfIndex(image.index)
	if err != nil {
		return nil, err
	}
	d := newDescription(a, image.file, digest)
	for _, f := range files {
		d.addFile(f)
	}
	return d.document()
}

// description is an SPDX document that grows file by file.
type description struct {
	about   about
	spdx    *spdx.Document
	root    *spdx.Package
	modules map[string]*spdx.Package // by path and version
	files   map[common.ElementID]bool
}

func newDescription(a about, image string, digest v1.Hash) *description {
	root := &spdx.Package{
		PackageName: image, PackageSPDXIdentifier: "Image", PackageVersion: "v" + a.version, PackageDownloadLocation: unknown,
		PackageChecksums:     []common.Checksum{{Algorithm: common.SHA256, Value: digest.Hex}},
		PackageSourceInfo:    "built from commit " + a.revision + " of " + source,
		PackageCopyrightText: unknown, PackageLicenseConcluded: unknown, PackageLicenseDeclared: license, PrimaryPackagePurpose: "CONTAINER",
		FilesAnalyzed: true, IsFilesAnalyzedTagPresent: true,
		PackageExternalReferences: []*spdx.PackageExternalReference{packageURL("pkg:oci/" + image + "@" + digest.Algorithm + "%3A" + digest.Hex)},
	}
	return &description{about: a, root: root, modules: map[string]*spdx.Package{}, files: map[common.ElementID]bool{}, spdx: &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: image + "-v" + a.version,
		DocumentNamespace: source + "/spdx/" + image + "-" + digest.Hex,
		CreationInfo: &spdx.CreationInfo{Created: a.created.Format(time.RFC3339),
			Creators: []common.Creator{{CreatorType: "Tool", Creator: "mainstay-operator-hack-release"}}},
		Relationships: []*spdx.Relationship{relation("DOCUMENT", common.TypeRelationshipDescribe, "Image")},
	}}
}

// addFile adds a file and, if it is a Go program, its modules.
func (d *description) addFile(f file) {
	sha256Sum, sha1Sum := sha256.Sum256(f.content), sha1.Sum(f.content) //nolint:gosec // see the import
	described := &spdx.File{
		FileName: "./" + f.name, FileSPDXIdentifier: common.ElementID(fmt.Sprintf("File-%s-%x", identifier(f.name), sha256Sum[:6])),
		Checksums: []common.Checksum{{Algorithm: common.SHA1, Value: fmt.Sprintf("%x", sha1Sum)},
			{Algorithm: common.SHA256, Value: fmt.Sprintf("%x", sha256Sum)}},
		LicenseConcluded: unknown, LicenseInfoInFiles: []string{unknown}, FileCopyrightText: unknown,
	}
	if d.files[described.FileSPDXIdentifier] {
		return // another architecture has the same
	}
	d.files[described.FileSPDXIdentifier] = true
	d.spdx.Files = append(d.spdx.Files, described)
	d.relate(d.root.PackageSPDXIdentifier, common.TypeRelationshipContains, described.FileSPDXIdentifier)
	built, err := buildinfo.Read(bytes.NewReader(f.content))
	if err != nil {
		return // not a Go program
	}
	for _, module := range modulesOf(built) {
		d.relate(described.FileSPDXIdentifier, common.TypeRelationshipDependsOn, d.module(module))
	}
}

// modulesOf a program: its own, those that it imports, and Go's standard library.
func modulesOf(built *buildinfo.BuildInfo) []debug.Module {
	modules := []debug.Module{{Path: "stdlib", Version: strings.TrimPrefix(built.GoVersion, "go")}, built.Main}
	for _, module := range built.Deps {
		switch replacement := module.Replace; {
		case replacement == nil:
			modules = append(modules, *module)
		case replacement.Version == "" || replacement.Version == "(devel)": // a folder
			modules = append(modules, debug.Module{Path: module.Path, Version: "(devel)"})
		default:
			modules = append(modules, *replacement)
		}
	}
	return modules
}

// module returns the identifier of a module's package, which it adds unless it is there.
func (d *description) module(m debug.Module) common.ElementID {
	if m.Version == "" || m.Version == "(devel)" { // built from this checkout
		m.Version = "v" + d.about.version
	}
	key := m.Path + "@" + m.Version
	if known := d.modules[key]; known != nil {
		return known.PackageSPDXIdentifier
	}
	described := &spdx.Package{
		PackageName: m.Path, PackageSPDXIdentifier: common.ElementID("Module-" + identifier(key)), PackageVersion: m.Version,
		PackageDownloadLocation: unknown, PackageCopyrightText: unknown, PackageLicenseConcluded: unknown,
		PackageLicenseDeclared: unknown, IsFilesAnalyzedTagPresent: true, PrimaryPackagePurpose: "LIBRARY",
		PackageExternalReferences: []*spdx.PackageExternalReference{packageURL("pkg:golang/" + strings.ReplaceAll(key, "+", "%2B"))},
	}
	if m.Sum != "" {
		described.PackageSourceInfo = "sum in go.sum: " + m.Sum
	}
	if m.Path == "stdlib" {
		described.PackageExternalReferences = append(described.PackageExternalReferences, &spdx.PackageExternalReference{
			Category: common.CategorySecurity, RefType: common.TypeSecurityCPE23Type,
			Locator: "cpe:2.3:a:golang:go:" + m.Version + ":*:*:*:*:*:*:*"})
	}
	d.modules[key] = described
	return described.PackageSPDXIdentifier
}

// document is what was described, with packages in the order of their names.
func (d *description) document() ([]byte, error) {
	sum, err := utils.GetVerificationCode(d.spdx.Files, "")
	if err != nil {
		return nil, err
	}
	d.root.PackageVerificationCode = &sum
	d.spdx.Packages = []*spdx.Package{d.root}
	for _, key := range slices.Sorted(maps.Keys(d.modules)) {
		d.spdx.Packages = append(d.spdx.Packages, d.modules[key])
	}
	content, err := json.MarshalIndent(d.spdx, "", " ")
	return append(content, '\n'), err
}

func (d *description) relate(from common.ElementID, how string, to common.ElementID) {
	d.spdx.Relationships = append(d.spdx.Relationships, relation(from, how, to))
}

func relation(from common.ElementID, how string, to common.ElementID) *spdx.Relationship {
	return &spdx.Relationship{Relationship: how,
		RefA: common.MakeDocElementID("", string(from)), RefB: common.MakeDocElementID("", string(to))}
}

func packageURL(url string) *spdx.PackageExternalReference {
	return &spdx.PackageExternalReference{Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: url}
}

// notInIdentifiers are characters that an identifier of SPDX must not have.
var notInIdentifiers = regexp.MustCompile(`[^A-Za-z0-9.]+`)

func identifier(name string) string { return notInIdentifiers.ReplaceAllString(name, "-") }
