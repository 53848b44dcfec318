package controllers

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/s2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// packed is a child, a pod or a volume claim as the cache keeps it: encoded and compressed, which takes a fraction of what its Go value
// takes. controller-runtime copies each cached object for its reader; the copy of a packed one is the decoded object.
type packed struct {
	dictionary *dictionary
	compressed string
}

// dictionary has what objects of one type and one application share: most of what the operator makes is the same for all.
type dictionary struct {
	*s2.Dict
	of reflect.Type // without the pointer
}

// encodable are the types of Kubernetes. The first field of each of them is the metadata.
type encodable interface {
	client.Object
	Marshal() ([]byte, error)
	Unmarshal(encoded []byte) error
}

// packer packs what one cache keeps.
type packer struct {
	mu           sync.Mutex
	dictionaries map[dictionaryKey]*dictionary
	decoded      *lru.Cache // the last objects that were decoded for indexes and handlers, by *packed
}

type dictionaryKey struct {
	of          reflect.Type
	application string // empty for all that the operator does not know, as anybody can set the label
}

// decodedObjects is how many of them there are: all handlers get an event at about the same time.
const decodedObjects = 64

func newPacker() *packer {
	return &packer{dictionaries: map[dictionaryKey]*dictionary{}, decoded: lru.New(decodedObjects)}
}

// pack strips what a cache is to keep, and packs it if it can. Objects of our own kinds stay as they are: there is one for many others,
// and JSON is slow. Packing twice is packing once.
func (p *packer) pack(in any) (any, error) {
	stripped := strip(in)
	if obj, is := stripped.(encodable); is {
		if kept := p.encode(obj); kept != nil {
			return kept, nil
		}
	}
	return stripped, nil
}

// encode returns nil for an object that cannot be decoded again, so that no object of a user makes a reader fail.
func (p *packer) encode(obj encodable) *packed {
	encoded, err := obj.Marshal()
	if err != nil || len(encoded) < s2.MinDictSize {
		return nil
	}
	d := p.dictionaryFor(obj, encoded)
	compressed := d.Encode(nil, encoded)
	decompressed, err := d.Decode(nil, compressed)
	if err != nil || !bytes.Equal(decompressed, encoded) || d.empty().Unmarshal(decompressed) != nil {
		return nil
	}
	return &packed{d, string(compressed)}
}

// dictionaryFor returns the dictionary of objects like this one. The first of them becomes it, until the process ends.
func (p *packer) dictionaryFor(obj client.Object, encoded []byte) *dictionary {
	key := dictionaryKey{of: reflect.TypeOf(obj).Elem()}
	if name := obj.GetLabels()[parts.LabelName]; isApplication(name) {
		key.application = name
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dictionaries[key] == nil {
		p.dictionaries[key] = &dictionary{s2.MakeDict(encoded, nil), key.of}
	}
	return p.dictionaries[key]
}

// isApplication reports whether a kind of ours labels its children with this name: that of its servers, or its own in lower case.
func isApplication(name string) bool {
	return name != "" && slices.ContainsFunc(kinds, func(k kind) bool {
		return k.servers == name || strings.ToLower(reflect.TypeOf(k.object).Elem().Name()) == name
	})
}

func (d *dictionary) empty() encodable { return reflect.New(d.of).Interface().(encodable) }

// unpack returns the object, whether the cache has packed it or not.
func unpack(kept any) any {
	if p, is := kept.(*packed); is {
		return p.DeepCopyObject()
	}
	return kept
}

// DeepCopyObject decodes the object.
func (p *packed) DeepCopyObject() runtime.Object {
	obj := p.dictionary.empty()
	if err := obj.Unmarshal(p.decompress()); err != nil {
		panic(fmt.Sprintf("%T was encoded by this process, and cannot be decoded: %v", obj, err))
	}
	return obj
}

// GetObjectMeta decodes the object's metadata alone, of which informers make keys and by which lists select.
func (p *packed) GetObjectMeta() metav1.Object {
	var bare metav1.PartialObjectMetadata // the first field of this type is the metadata, too, and it ignores the others
	if err := bare.Unmarshal(p.decompress()); err != nil {
		panic(fmt.Sprintf("%s was encoded by this process, and its metadata cannot be decoded: %v", p.dictionary.of, err))
	}
	return &bare
}

// GetObjectKind returns an empty kind: objects of a cache have none.
func (*packed) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

func (p *packed) decompress() []byte {
	encoded, err := p.dictionary.Decode(nil, []byte(p.compressed))
	if err != nil {
		panic(fmt.Sprintf("%s was compressed by this process, and cannot be decompressed: %v", p.dictionary.of, err))
	}
	return encoded
}
