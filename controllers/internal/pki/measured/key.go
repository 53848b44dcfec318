package measured

import (
	"encoding/asn1"
	"errors"
	"math/bits"
	"slices"
)

var (
	errNoKey     = errors.New("it has no private key in PEM")
	errEncrypted = errors.New("its private key is encrypted: put it there without a password")
	// errUnknownKey is of what x509 parses in no form, and is not tried.
	errUnknownKey = refusal("it is no private key in the form PKCS #1, PKCS #8 or SEC 1")
	errNoCRT      = refusal("its RSA key lacks the CRT values of PKCS #1 (exponent1, exponent2, coefficient), without which OpenSSL does " +
		"not read it either: make a new key and a certificate for it")
	errMultiPrime = refusal("its RSA key has more than two primes: make a new key and a certificate for it")
	errOddRSA     = refusal("its RSA key has values that are longer than its modulus: make a new key and a certificate for it")
)

// The kinds of keys in PKCS #8 that TLS uses, by their object identifiers (RFC 8017, 5480, 8410).
var (
	oidRSA   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}
	oidOther = []asn1.ObjectIdentifier{{1, 2, 840, 10045, 2, 1}, {1, 3, 101, 112}} // ECDSA, Ed25519
)

// checkKey returns why a text has no key that crypto/tls parses in proportion to its length. It reads the lengths of a key's
// numbers, and computes nothing with them.
func checkKey(text []byte) error {
	if err := checkLength(text, MaxBytes); err != nil {
		return err
	}
	block := privateKey(text)
	switch {
	case block == nil:
		return errNoKey
	case block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "":
		return errEncrypted
	}
	fields, err := sequence(block.Bytes)
	if err != nil || len(fields) < 2 || !isInteger(fields[0]) {
		return errUnknownKey
	}
	// The second field says which form it is, so that nothing is one here and another to x509.
	switch second := fields[1]; {
	case isInteger(second):
		return checkRSA(fields)
	case second.Class == asn1.ClassUniversal && second.Tag == asn1.TagSequence:
		return checkPKCS8(fields)
	case second.Class == asn1.ClassUniversal && second.Tag == asn1.TagOctetString:
		return nil // SEC 1: a number of a known curve
	}
	return errUnknownKey
}

// checkPKCS8 checks the fields of a PrivateKeyInfo (RFC 5208): version, algorithm, key.
func checkPKCS8(fields []asn1.RawValue) error {
	algorithm, err := sequence(fields[1].FullBytes)
	if err != nil || len(algorithm) == 0 || len(fields) < 3 {
		return errUnknownKey
	}
	var oid asn1.ObjectIdentifier
	if _, err := asn1.Unmarshal(algorithm[0].FullBytes, &oid); err != nil {
		return errUnknownKey
	}
	if !oid.Equal(oidRSA) {
		if slices.ContainsFunc(oidOther, oid.Equal) {
			return nil
		}
		return refusef("its private key is of a kind that TLS does not use: make one of RSA, ECDSA or Ed25519")
	}
	inner, err := sequence(fields[2].Bytes)
	if err != nil {
		return errUnknownKey
	}
	return checkRSA(inner)
}

// checkRSA checks the fields of an RSAPrivateKey (RFC 8017, A.1.2): version, modulus, publicExponent, privateExponent, prime1,
// prime2, exponent1, exponent2, coefficient.
func checkRSA(fields []asn1.RawValue) error {
	const modulus, crt, all = 1, 6, 9
	if len(fields) < crt {
		return errUnknownKey
	}
	if slices.ContainsFunc(fields[:min(len(fields), all)], func(f asn1.RawValue) bool { return !isInteger(f) }) {
		return errUnknownKey
	}
	switch length := bitLen(fields[modulus].Bytes); {
	case length > MaxRSABits:
		return tooLong(length)
	case len(fields) < all || slices.ContainsFunc(fields[crt:all], isZero):
		return errNoCRT
	case len(fields) > all:
		return errMultiPrime
	case slices.ContainsFunc(fields[modulus+1:all], func(f asn1.RawValue) bool { return bitLen(f.Bytes) > length }):
		return errOddRSA
	}
	return nil
}

// sequence returns the fields of a SEQUENCE that is all of der.
func sequence(der []byte) ([]asn1.RawValue, error) {
	var outer asn1.RawValue
	rest, err := asn1.Unmarshal(der, &outer)
	if err != nil || len(rest) > 0 || outer.Class != asn1.ClassUniversal || outer.Tag != asn1.TagSequence || !outer.IsCompound {
		return nil, errUnknownKey
	}
	var fields []asn1.RawValue
	for rest = outer.Bytes; len(rest) > 0; {
		var field asn1.RawValue
		if rest, err = asn1.Unmarshal(rest, &field); err != nil {
			return nil, errUnknownKey
		}
		if fields = append(fields, field); len(fields) > maxFields {
			return nil, errUnknownKey
		}
	}
	return fields, nil
}

// maxFields is more than any form of key has.
const maxFields = 16

func isInteger(v asn1.RawValue) bool {
	return v.Class == asn1.ClassUniversal && v.Tag == asn1.TagInteger && !v.IsCompound
}

func isZero(v asn1.RawValue) bool { return bitLen(v.Bytes) == 0 }

// bitLen is the length of a number in bits, as it is written.
func bitLen(number []byte) int {
	for len(number) > 0 && number[0] == 0 {
		number = number[1:]
	}
	if len(number) == 0 {
		return 0
	}
	return 8*(len(number)-1) + bits.Len8(number[0])
}
