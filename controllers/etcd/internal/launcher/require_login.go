package launcher

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// rootUser is the user, and the role, without which etcd requires no login (server/auth/store.go).
const rootUser = "root"

// requireLogin has etcd require a login before the first client reaches the data: the backup may require none, and the operator, which
// would set that, connects only later. Data that already requires a login stays as it is.
//
// First it deletes each user that may do everything, and each that has a name of the operator's: they could log in with the passwords of
// the backup. It makes root with a random password that no one knows. The operator logs in without a password, and sets root's.
func requireLogin(command []string, address string, operatorUsers []string) error {
	return onLoopback(command, address, func(ctx context.Context, server loopbackServer) error {
		if required, err := server.requiresLogin(ctx); required || err != nil {
			return err
		}
		if err := server.dropUsers(ctx, operatorUsers); err != nil {
			return err
		}
		for _, call := range []struct {
			path string
			body map[string]string
		}{
			{"/v3/auth/user/add", map[string]string{"name": rootUser, "password": rand.Text()}},
			{"/v3/auth/role/add", map[string]string{"name": rootUser}},
			{"/v3/auth/user/grant", map[string]string{"user": rootUser, "role": rootUser}},
			{"/v3/auth/enable", map[string]string{}},
		} {
			err := server.post(ctx, call.path, call.body, &struct{}{})
			if err != nil && !strings.Contains(err.Error(), "role name already exists") { // ErrRoleAlreadyExist of api/v3rpc/rpctypes
				return err
			}
		}
		required, err := server.requiresLogin(ctx)
		if err == nil && !required {
			err = errors.New("etcd answers a client that has not logged in, although it has agreed to require a login")
		}
		return err
	})
}

// requiresLogin reports whether the server refuses to read a key for a client that has not logged in.
func (l loopbackServer) requiresLogin(ctx context.Context) (bool, error) {
	err := l.post(ctx, "/v3/kv/range", map[string]any{"key": []byte{0}, "count_only": true}, &struct{}{})
	if err != nil && strings.Contains(err.Error(), "user name is empty") { // ErrUserEmpty of api/v3rpc/rpctypes
		return true, nil
	}
	return false, err
}

// dropUsers deletes the users that may do everything, and those that have one of the names.
func (l loopbackServer) dropUsers(ctx context.Context, names []string) error {
	var list struct{ Users []string }
	if err := l.post(ctx, "/v3/auth/user/list", struct{}{}, &list); err != nil {
		return err
	}
	for _, name := range list.Users {
		var user struct{ Roles []string }
		if err := l.post(ctx, "/v3/auth/user/get", map[string]string{"name": name}, &user); err != nil {
			return err
		}
		if !slices.Contains(names, name) && !slices.Contains(user.Roles, rootUser) {
			continue
		}
		if err := l.post(ctx, "/v3/auth/user/delete", map[string]string{"name": name}, &struct{}{}); err != nil {
			return err
		}
	}
	return nil
}

// post sends a request as JSON (https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/), which needs no client library of etcd, and reads
// the reply into answer. If the server refuses, the error has the server's message.
func (l loopbackServer) post(ctx context.Context, path string, question, answer any) error {
	text, err := json.Marshal(question)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+l.clients+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := readAnswer(path, response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode == http.StatusOK {
		return json.Unmarshal(body, answer)
	}
	var refusal struct{ Message string }
	_ = json.Unmarshal(body, &refusal) // without a message, the status must be enough
	return fmt.Errorf("%s answers %s: %s", path, response.Status, refusal.Message)
}
