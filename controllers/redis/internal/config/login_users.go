package config

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// loginUser returns the user as which a node logs in to its master. A pod that is created again
// has the same user as the one before, with another password.
func loginUser(name string) string { return loginUserOf(Ordinal(name)) }

func loginUserOf(ordinal int32) string { return fmt.Sprintf("%s-%d", wire.Replication, ordinal) }

// LoginUsers returns the users of all nodes that there can be.
func LoginUsers() []string {
	users := make([]string, 0, maxSize)
	for n := range int32(maxSize) {
		users = append(users, loginUserOf(n))
	}
	return users
}

// LoginOf returns the login of one process at the master of that run id. Its password is derived from both run ids: the next
// process of the same pod does not have it, and another pod that gets the address of a lost master gets no password that
// another master accepts.
func (c Credentials) LoginOf(p cachev1alpha1.RedisProcess, masterRunID string) wire.Login {
	sum := hmac.New(sha256.New, []byte(c.Replication))
	_, _ = sum.Write([]byte(p.RunID + " " + masterRunID)) // never fails
	return wire.Login{User: loginUser(p.Name), Password: hex.EncodeToString(sum.Sum(nil))}
}
