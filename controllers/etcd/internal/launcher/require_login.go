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

// requireLogin has etcd ask for a login from the first client that reaches the data: what was backed up may ask for none, and the operator,
// which requires one, comes only later. Nothing is changed in data that asks for one.
//
// Before, it drops each user that may do everything, or has a name of the operator's: they would be let in with the passwords of the
// backup. That of root is one that no one knows. The operator, which needs none, sets it.
func requireLogin(command []string, address string, operatorUsers []string) error {
	return onLoopback(command, address, func(ctx context.Context, server loopbackServer) error {
		if closed, err := server.isClosed(ctx); closed || err != nil {
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
		closed, err := server.isClosed(ctx)
		if err == nil && !closed {
			err = errors.New("etcd answers who has not logged in, although it has agreed not to")
		}
		return err
	})
}

// isClosed reports whether the server refuses to read a key for a client that has not logged in.
func (l loopbackServer) isClosed(ctx context.Context) (bool, error) {
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

// post asks the server by etcd's JSON (https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/), which needs no library, and reads its answer
// into a value. The error has what the server says.
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
	_ = json.Unmarshal(body, &refusal) // without a message its status has to do
	return fmt.Errorf("%s answers %s: %s", path, response.Status, refusal.Message)
}
