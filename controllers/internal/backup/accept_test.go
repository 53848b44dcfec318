package backup

import (
	"encoding/json"
	"strings"
	"testing"
)

const anItem = "20260101T000000Z-00000001"

func TestReadManifest(t *testing.T) {
	right := Manifest{Format: Format, Kind: Etcd, Item: anItem, Compression: "Gzip", SHA256: strings.Repeat("a", sha256Digits)}
	edited := func(edit func(*Manifest)) string {
		m := right
		edit(&m)
		text, _ := json.Marshal(m)
		return string(text)
	}
	for name, c := range map[string]struct{ text, err string }{
		"right":                 {edited(func(*Manifest) {}), ""},
		"of a later release":    {edited(func(m *Manifest) { m.Format++ }), "has format 2, and this release reads up to 1: use a later release"},
		"no format":             {"{}", "belongs to another backup"},
		"no JSON":               {"<html>", "is not valid JSON"},
		"nothing":               {"", "is not valid JSON"},
		"another kind":          {edited(func(m *Manifest) { m.Kind = Redis }), "belongs to another backup"},
		"another item":          {edited(func(m *Manifest) { m.Item = "20260101T000000Z-00000002" }), "belongs to another backup"},
		"another packing":       {edited(func(m *Manifest) { m.Compression = "Zstd" }), `has the unknown compression "Zstd"`},
		"below zero":            {edited(func(m *Manifest) { m.RawSize = -1 }), "has a size, a revision or an offset below zero"},
		"a revision below zero": {edited(func(m *Manifest) { m.Revision = -1 }), "has a size, a revision or an offset below zero"},
		"no sum":                {edited(func(m *Manifest) { m.SHA256 = "sum" }), "has no SHA-256 of its data"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadManifest([]byte(c.text), Etcd, anItem)
			switch {
			case c.err == "" && (err != nil || got != right):
				t.Errorf("%+v, %v", got, err)
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || !IsPermanent(err)):
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestLoadableBy(t *testing.T) {
	for name, c := range map[string]struct {
		server  ServerType
		from    string
		dump    int
		version string
		refused bool
	}{
		"any":                            {Etcd, "3.7.3", 0, "", false},
		"the same":                       {Etcd, "3.6.16", 0, "3.6.16", false},
		"a later patch":                  {Etcd, "3.6.16", 0, "3.6.1", false},
		"an earlier minor":               {Etcd, "3.5.35", 0, "3.6.1", false},
		"a later minor":                  {Etcd, "3.7.0", 0, "3.6.16", true},
		"a later minor of two digits":    {Etcd, "3.10.0", 0, "3.9.0", true},
		"a later major":                  {Etcd, "4.0.0", 0, "3.9.0", true},
		"an invalid version":             {Etcd, "master", 0, "3.9.0", true},
		"Redis with the same dump":       {Redis, "8.0.1", 12, "7.4.2", false},
		"Redis with an earlier dump":     {Redis, "7.0.1", 10, "7.2.2", false},
		"Redis with a later dump":        {Redis, "7.4.1", 12, "7.2.4", true},
		"Redis with a much later dump":   {Redis, "9.0.0", 80, "8.4.0", true},
		"Redis 6 with that of 7":         {Redis, "7.0.0", 10, "6.2.1", true},
		"a release that is not known":    {Redis, "9.0.0", 80, "8.6.0", false},
		"a later server, the same dump":  {Redis, "8.2.0", 12, "8.0.0", false},
		"before all that are known here": {Redis, "8.2.0", 12, "4.0.0", true},
	} {
		t.Run(name, func(t *testing.T) {
			err := Manifest{Kind: c.server, Item: anItem, ServerVersion: c.from, RDBVersion: c.dump}.LoadableBy(c.version)
			if (err != nil) != c.refused || c.refused && (!IsPermanent(err) || !strings.Contains(err.Error(), anItem)) {
				t.Error(err)
			}
		})
	}
}
