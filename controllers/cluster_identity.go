package controllers

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"

	"k8s.io/client-go/rest"
)

// clusterIdentity names the cluster in what leaves it: the SHA-256 of the certificate authority of its API server, in hexadecimal. Unlike
// the UID of a namespace it takes no right to read. It is empty if the configuration has no authority, and changes with it.
func clusterIdentity(config *rest.Config) (string, error) {
	authority := config.CAData
	if len(authority) == 0 && config.CAFile != "" {
		var err error
		if authority, err = os.ReadFile(config.CAFile); err != nil {
			return "", fmt.Errorf("reading the certificate authority of the API server: %w", err)
		}
	}
	if len(authority) == 0 {
		return "", nil
	}
	sum := sha256.Sum256(bytes.TrimSpace(authority))
	return hex.EncodeToString(sum[:]), nil
}
