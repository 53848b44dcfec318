package rdb

import (
	"encoding/binary"
	"errors"
	"hash/crc64"

	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/trailer"
)

// jones is the polynomial of Redis' checksum, its bits reversed as Go's package has them (crc64.c: 0xad93d23594c935a9).
var jones = crc64.MakeTable(0x95ac9329ac4bc9b5)

// checksumSize is the size of the checksum behind a dump, in bytes.
const checksumSize = 8

// checksum reckons a dump's checksum while it is written to it.
type checksum struct {
	*trailer.Splitter
	sum uint64
}

func newChecksum() *checksum {
	c := &checksum{}
	c.Splitter = trailer.New((*body)(c), checksumSize)
	return c
}

// body takes in what the checksum is of.
type body checksum

// Write adds to the sum. Go's package inverts the sum before and after, and Redis does not.
func (b *body) Write(p []byte) (int, error) {
	b.sum = ^crc64.Update(^b.sum, jones, p)
	return len(p), nil
}

// matches reports whether the dump has its own checksum, and returns an error if it has another. A server can be configured to write
// none, by rdbchecksum.
func (c *checksum) matches() (bool, error) {
	if len(c.Last()) < checksumSize {
		return false, errTruncated
	}
	switch binary.LittleEndian.Uint64(c.Last()) {
	case c.sum:
		return true, nil
	case 0:
		return false, nil
	}
	return false, errors.New("the dump was damaged: its checksum differs")
}
