package builders

import (
	"fmt"
	"strings"
)

// MemcachedItemSizes are what memcached derives the sizes of its chunks from.
type MemcachedItemSizes struct {
	Memory, MaxItemSize string
	Options             []string
	// Starts is whether memcached does.
	Starts bool
	// Field that is to be fixed where it does not.
	Field string
}

// ItemSizes are those at the edges of what memcached starts with.
var ItemSizes = []MemcachedItemSizes{
	{"64Mi", "1023", nil, false, "spec.maxItemSize"},
	{"64Mi", "1Ki", nil, false, "spec.maxItemSize"},
	{"64Mi", "64Ki", nil, false, "spec.maxItemSize"},
	{"64Mi", "524287", nil, false, "spec.maxItemSize"},
	{"64Mi", "512Ki", nil, true, ""},
	{"64Mi", "0.5Mi", nil, true, ""},
	{"64Mi", "524288.5", nil, false, "spec.maxItemSize"},
	{"64Mi", "524289", nil, false, "spec.maxItemSize"},
	{"64Mi", "1M", nil, false, "spec.maxItemSize"},
	{"64Mi", "1048577", nil, false, "spec.maxItemSize"},
	{"64Mi", "1500000", nil, false, "spec.maxItemSize"},
	{"64Mi", "1.5Mi", nil, true, ""},
	{"64Mi", "32Mi", nil, true, ""},
	{"2Gi", "510.5Mi", nil, true, ""}, // which is no whole number as a float
	{"64Mi", "33280Ki", nil, false, "maxItemSize must be at most half of memory"},
	{"66M", "32Mi", nil, false, "maxItemSize must be at most half of memory"}, // -m 62
	{"8Mi", "4Mi", nil, true, ""},
	{"8Mi", "4608Ki", nil, false, "maxItemSize must be at most half of memory"},
	{"9Mi", "4608Ki", nil, true, ""},
	{"1Gi", "512Mi", nil, true, ""},
	{"1023Mi", "512Mi", nil, false, "maxItemSize must be at most half of memory"},
	{"1Ti", "512Mi", nil, true, ""},
	{"64Mi", "512Ki", []string{"modern"}, true, ""},
	{"64Mi", "512Ki", []string{"no_modern"}, false, "maxItemSize must be at least 1Mi with no_modern"},
	{"64Mi", "1Mi", []string{"no_modern"}, true, ""},
	{"64Mi", "1536Ki", []string{"no_modern"}, true, ""},
	{"64Mi", "512Ki", []string{"slab_chunk_max=1"}, true, ""},
	{"64Mi", "1536Ki", []string{"slab_chunk_max=512"}, true, ""},
	{"64Mi", "1Mi", []string{"slab_chunk_max=3"}, false, "options: slab_chunk_max"},
	{"64Mi", "1Mi", []string{"slab_chunk_max=0"}, false, "options: slab_chunk_max"},
	{"64Mi", "1Mi", []string{"slab_chunk_max"}, false, "options: slab_chunk_max"},
}

// Set them.
func (m MemcachedItemSizes) Set(f *MemcachedBuilder) *MemcachedBuilder {
	return f.Memory(m.Memory).MaxItemSize(m.MaxItemSize).Options(m.Options...)
}

func (m MemcachedItemSizes) String() string {
	return fmt.Sprintf("%s of %s %s", m.MaxItemSize, m.Memory, strings.Join(m.Options, ","))
}
