package rdb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc64"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// sealed appends the checksum to a dump.
func sealed(dump string) string {
	sum := ^crc64.Update(^uint64(0), jones, []byte(dump))
	return dump + string(binary.LittleEndian.AppendUint64(nil, sum))
}

// withKey is a dump of one key with that value, of that type.
func withKey(value string) string {
	return sealed("REDIS0012\xfa\x09redis-ver\x067.4.10\xfe\x00\xfb\x01\x00" + value[:1] + "\x03key" + value[1:] + "\xff")
}

const streamID16 = "0123456789abcdef"

func TestAKeyOfEveryTypeIsCounted(t *testing.T) {
	for name, value := range map[string]string{
		"string":                   "\x00\x05value",
		"string of 14 bits":        "\x00\x40\x46" + strings.Repeat("v", 70),
		"string of 32 bits":        "\x00\x80\x00\x00\x00\x05value",
		"string of 64 bits":        "\x00\x81\x00\x00\x00\x00\x00\x00\x00\x05value",
		"number of 8 bits":         "\x00\xc0\x01",
		"number of 16 bits":        "\x00\xc1\x01\x02",
		"number of 32 bits":        "\x00\xc2\x01\x02\x03\x04",
		"compressed string":        "\x00\xc3\x04\x40\x64lzf!",
		"list":                     "\x01\x02\x01a\x01b",
		"set":                      "\x02\x02\x01a\x01b",
		"sorted set with texts":    "\x03\x03\x01a\x031.5\x01b\xfe\x01c\xfd",
		"hash":                     "\x04\x01\x01f\x01v",
		"sorted set":               "\x05\x01\x01a12345678",
		"module":                   "\x07\x81moduleid\x01\x05\x02\x06\x03abcd\x0412345678\x05\x02ab\x00",
		"zipmap":                   "\x09\x02ab",
		"ziplist":                  "\x0a\x02ab",
		"intset":                   "\x0b\x02ab",
		"sorted set in a ziplist":  "\x0c\x02ab",
		"hash in a ziplist":        "\x0d\x02ab",
		"quicklist":                "\x0e\x02\x02ab\x02cd",
		"stream":                   "\x0f\x01\x10" + streamID16 + "\x02lp\x01\x05\x00\x00",
		"hash in a listpack":       "\x10\x02ab",
		"sorted set in a listpack": "\x11\x02ab",
		"quicklist 2":              "\x12\x02\x01\x02ab\x02\x02cd",
		"stream 2 with groups": "\x13\x00\x01\x05\x00\x05\x00\x00\x00\x01\x01\x02cg\x05\x00\x01" + "\x01" + streamID16 +
			"12345678\x01" + "\x01\x02co12345678\x01" + streamID16,
		"set in a listpack": "\x14\x02ab",
		"stream 3 with groups": "\x15\x00\x01\x05\x00\x05\x00\x00\x00\x01\x01\x02cg\x05\x00\x01" + "\x01" + streamID16 +
			"12345678\x01" + "\x01\x02co1234567812345678\x01" + streamID16,
		"hash of a candidate's fields":    "\x16\x01\x05\x01f\x01v",
		"hash of a candidate's listpack":  "\x17\x02ab",
		"hash with fields that expire":    "\x1812345678\x02\x01\x01f\x01v\x00\x01g\x01w",
		"hash that expires in a listpack": "\x1912345678\x02ab",
	} {
		t.Run(name, func(t *testing.T) {
			dump, err := Read(iotest.OneByteReader(strings.NewReader(withKey(value))))
			if want := (Dump{Version: 12, Keys: 1, Databases: 1}); err != nil || dump != want {
				t.Errorf("got %+v, %v", dump, err)
			}
		})
	}
}

func TestWhatADumpSaysAboutItself(t *testing.T) {
	for _, c := range []struct {
		name, dump string
		want       Dump
	}{
		{"nothing in it", sealed("REDIS0010\xff"), Dump{Version: 10}},
		{"no checksum", "REDIS0011\xff\x00\x00\x00\x00\x00\x00\x00\x00", Dump{Version: 11}},
		{"of Valkey", sealed("VALKEY080\xfa\x0avalkey-ver\x059.0.0\xff"), Dump{Version: 80}},
		{"keys of two databases, with times to live", sealed("REDIS0011" +
			"\xf5\x03lib" + "\xf7\x81moduleid\x02\x01\x00" + "\xfa\x05ctime\xc2\x01\x02\x03\x04" + "\xfa\x04bits\xc0\x40" +
			"\xfe\x00\xfb\x02\x01\xf4\x01\x01\x01" + "\xfc12345678\xf9\x05\x00\x01a\x01b" + "\xf8\x40\xff\x00\x01b\x01b" +
			"\xfe\x0f\xfb\x01\x01" + "\xfd1234\x00\x01a\x01b" + "\xff"), Dump{Version: 11, Keys: 3, Expires: 2, Databases: 16}},
		{"a type of a later server", withKey("\x7fwhatever"), Dump{Version: 12, Keys: Uncounted, Expires: Uncounted, Databases: Uncounted}},
		{"an opcode of a later server", withKey("\xf3whatever"), Dump{Version: 12, Keys: Uncounted, Expires: Uncounted, Databases: Uncounted}},
		{"a type that is another of Valkey's", sealed("VALKEY080\x16\x01k\x00\xff"),
			Dump{Version: 80, Keys: Uncounted, Expires: Uncounted, Databases: Uncounted}},
		{"a long text", sealed("REDIS0011\xfa\x09redis-ver\x40\x46" + strings.Repeat("9", 70) + "\xff"), Dump{Version: 11}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := Read(strings.NewReader(c.dump)); err != nil || got != c.want {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

// whole is a dump with some of everything.
var whole = withKey("\x00\x05value")

func TestADumpThatIsNotWholeIsRefused(t *testing.T) {
	for _, c := range []struct{ name, dump, want string }{
		{"empty", "", errTruncated.Error()},
		{"of something else", "<!DOCTYPE html>", `"<!DOCTYPE" is not how a dump starts`},
		{"of a version without a checksum", "REDIS0004\xff", `"REDIS0004" is not how a dump starts`},
		{"a dump with more after it", whole + "more", "its checksum differs"},
		{"a dump with more after it, and no checksum", "REDIS0011\xff\x00\x00\x00\x00\x00\x00\x00\x00\x00", errBehind.Error()},
		{"a dump with an unknown type, and no checksum", "REDIS0011\x7f\x01k\xff\x00\x00\x00\x00\x00\x00\x00\x00", errUnknown.Error()},
		{"a dump with a list of 2^63 elements", "REDIS0011\x01\x01k\x81\x80\x00\x00\x00\x00\x00\x00\x00\x01a", errTruncated.Error()},
		{"a dump with a string of 2^64-1 bytes", "REDIS0011\x00\x01k\x81\xff\xff\xff\xff\xff\xff\xff\xffabc", errTruncated.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := Read(strings.NewReader(c.dump)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	for n := range len(whole) {
		if got, err := Read(strings.NewReader(whole[:n])); err == nil {
			t.Errorf("its first %d bytes are taken for %+v", n, got)
		}
		damaged := []byte(whole)
		damaged[n] ^= 1
		if got, err := Read(bytes.NewReader(damaged)); err == nil {
			t.Errorf("with byte %d another it is taken for %+v", n, got)
		}
	}
}

func TestTheErrorOfTheStreamIsReported(t *testing.T) {
	lost := errors.New("the connection is lost")
	for _, n := range []int{0, 5, 20, len(whole) - 3, len(whole)} {
		if _, err := Read(io.MultiReader(strings.NewReader(whole[:n]), iotest.ErrReader(lost))); !errors.Is(err, lost) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(whole))
	for _, value := range []string{"\x15\x00\x01\x05\x00\x05\x00\x00\x00\x01\x00", "\x07\x81moduleid\x05\x02ab\x00",
		"\x1812345678\x02\x01\x01f\x01v"} {
		f.Add([]byte(withKey(value)))
	}
	f.Fuzz(func(t *testing.T, dump []byte) {
		if is, err := Read(bytes.NewReader(dump)); err == nil &&
			(is.Keys < Uncounted || is.Keys > int64(len(dump)) || is.Expires > int64(len(dump))) {
			t.Errorf("%d bytes are %+v", len(dump), is)
		}
	})
}
