package hostile

import (
	"bytes"
	"encoding/asn1"
	"math/big"
)

// WithoutCRT is how many numbers of an RSAPrivateKey there are before its CRT values.
const WithoutCRT = 6

// Number is an odd number of so many bits. Whether it is a prime cannot be known without computing.
func Number(bits int) *big.Int {
	digits := bytes.Repeat([]byte{0xe5}, (bits+7)/8)
	return new(big.Int).SetBit(new(big.Int).Rsh(new(big.Int).SetBytes(digits), uint(len(digits)*8-bits)), bits-1, 1)
}

// RSANumbers are those of an RSAPrivateKey of that length, which is even: they fit each other, but p and q are no primes, which
// no client checks. It has as many as are given.
func RSANumbers(bits, count int) []any {
	unit, step := big.NewInt(1), big.NewInt(2)
	for p := Number(bits / 2); ; p.Add(p, step) {
		q := new(big.Int).Add(p, step)
		d := new(big.Int).ModInverse(big.NewInt(65537), new(big.Int).Mul(new(big.Int).Sub(p, unit), new(big.Int).Sub(q, unit)))
		if d != nil { // 65537 divides neither p-1 nor q-1
			return []any{0, new(big.Int).Mul(p, q), 65537, d, p, q, p, q, p}[:count]
		}
	}
}

// PKCS1 is a private key of these numbers, in DER.
func PKCS1(numbers ...any) []byte {
	key, err := asn1.Marshal(Sequence(numbers))
	if err != nil {
		panic(err)
	}
	return key
}

// Sequence of what ASN.1 can express.
func Sequence(values []any) asn1.RawValue {
	var content []byte
	for _, v := range values {
		encoded, err := asn1.Marshal(v)
		if err != nil {
			panic(err)
		}
		content = append(content, encoded...)
	}
	return asn1.RawValue{Class: asn1.ClassUniversal, Tag: asn1.TagSequence, IsCompound: true, Bytes: content}
}
