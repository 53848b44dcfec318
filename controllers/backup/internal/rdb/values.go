package rdb

// Types of values (RDB_TYPE_* in rdb.h). What is one string in memory is one in the dump.
const (
	typeString         = 0
	typeList           = 1
	typeSet            = 2
	typeSortedSet      = 3 // with scores as decimal texts
	typeHash           = 4
	typeSortedSet2     = 5 // with scores as binary numbers
	typeModule         = 7
	typeHashZipmap     = 9
	typeListZiplist    = 10
	typeSetIntset      = 11
	typeZSetZiplist    = 12
	typeHashZiplist    = 13
	typeQuicklist      = 14
	typeStream         = 15
	typeHashListpack   = 16
	typeZSetListpack   = 17
	typeQuicklist2     = 18
	typeStream2        = 19
	typeSetListpack    = 20
	typeStream3        = 21
	typeHashExpiresRC  = 22 // with fields that expire, as Redis 7.4 had them before its release
	typeHashListpackRC = 23
	typeHashExpires    = 24
	typeHashListpackEx = 25
)

// firstRedisType is the first type that Redis and Valkey have for different things.
const firstRedisType = typeHashExpiresRC

// value skips a value.
func (r *reader) value(valueType byte) {
	if r.isValkey && valueType >= firstRedisType {
		r.failFormat(errUnknown)
		return
	}
	switch valueType {
	case typeString, typeHashZipmap, typeListZiplist, typeSetIntset, typeZSetZiplist, typeHashZiplist,
		typeHashListpack, typeZSetListpack, typeSetListpack, typeHashListpackRC:
		r.string()
	case typeList, typeSet, typeQuicklist:
		r.each(r.string)
	case typeHash:
		r.each(func() { r.string(); r.string() })
	case typeSortedSet:
		r.each(func() { r.string(); r.decimal() })
	case typeSortedSet2:
		r.each(func() { r.string(); r.skip(8) })
	case typeQuicklist2:
		r.each(func() { r.length(); r.string() })
	case typeHashListpackEx:
		r.skip(8) // when the first field expires
		r.string()
	case typeHashExpires:
		r.skip(8)
		r.each(func() { r.length(); r.string(); r.string() })
	case typeHashExpiresRC:
		r.each(func() { r.length(); r.string(); r.string() })
	case typeStream, typeStream2, typeStream3:
		r.stream(valueType)
	case typeModule:
		r.length() // the module's ID
		r.moduleValue()
	default:
		r.failFormat(errUnknown)
	}
}

// decimal skips a number that is written as a text; some lengths mean NaN or an infinity.
func (r *reader) decimal() {
	if size := r.byte(); size < 253 {
		r.skip(uint64(size))
	}
}

// Parts of what a module writes (RDB_MODULE_OPCODE_* in rdb.h).
const (
	moduleEnd    = 0
	moduleSigned = 1
	moduleNumber = 2
	moduleFloat  = 3
	moduleDouble = 4
	moduleString = 5
)

// moduleValue skips what a module has written, each part of which starts with its kind.
func (r *reader) moduleValue() {
	for r.err == nil {
		switch r.length() {
		case moduleEnd:
			return
		case moduleSigned, moduleNumber:
			r.length()
		case moduleFloat:
			r.skip(4)
		case moduleDouble:
			r.skip(8)
		case moduleString:
			r.string()
		default:
			r.failFormat(errUnknown)
		}
	}
}

// streamID is the size of the ID of a stream's entry, in bytes.
const streamID = 16

// stream skips a stream: its entries, then its groups of consumers.
func (r *reader) stream(valueType byte) {
	r.each(func() { r.string(); r.string() })
	r.lengths(3) // entries, and the ID of the last
	if valueType >= typeStream2 {
		r.lengths(5) // the first ID, the greatest deleted one, and how many were added
	}
	r.each(func() {
		r.string()
		r.lengths(2) // the last ID delivered
		if valueType >= typeStream2 {
			r.length() // how many were read
		}
		r.each(func() { r.skip(streamID + 8); r.length() }) // pending: when delivered, and how often
		r.each(func() {
			r.string()
			r.skip(8) // when seen
			if valueType >= typeStream3 {
				r.skip(8) // when active
			}
			r.each(func() { r.skip(streamID) })
		})
	})
}
