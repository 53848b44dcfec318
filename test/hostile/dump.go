package hostile

// DeceivingDump is a dump of Redis with one hash, whose two elements are a listpack in which the first says that it is longer than the
// whole. Its size and its end are right, which is all that a server looks at by default.
func DeceivingDump() []byte {
	list := []byte{15, 0, 0, 0, 2, 0, 0x8a, 'a', 2, 0x81, 'b', 2, 0x81, 0, 0xff}
	dump := append([]byte("REDIS0010\xfe\x00\x10\x04hash"), byte(len(list)))
	return append(append(dump, list...), 0xff, 0, 0, 0, 0, 0, 0, 0, 0)
}
