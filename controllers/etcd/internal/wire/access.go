package wire

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/authpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/etcdtoken"
)

const (
	// Root is the user, and the role, that may do everything. etcd requires no login before it has both.
	Root = etcdtoken.Root
	// ApplicationRole may read and write all keys, and nothing else.
	ApplicationRole = "application"
	// MaxPasswordBytes is how much of a password bcrypt takes, by which etcd keeps them.
	MaxPasswordBytes = 72

	// everyKey, as the first of a range and as its end, means all keys.
	everyKey = "\x00"
)

// ErrLockedOut says that etcd does not take the operator's token.
var ErrLockedOut = errors.New("etcd does not take the operator's token")

// errTooManyUsers says that etcd has more users than the operator looks through.
var errTooManyUsers = errors.New("etcd has too many users to look through")

// User is one whom etcd is to let in.
type User struct{ Name, Password, Role string }

// LookAtAccess asks who may log in, which takes a majority. users are those of ours, in the order in which they are to be set.
// Others are looked through only where others is true.
func (s *Server) LookAtAccess(ctx context.Context, users []User, others bool) (membership.Access, error) {
	login, err := s.client.AuthStatus(ctx)
	if err != nil {
		return membership.Access{}, fmt.Errorf("asking whether a login is required: %w", translate(err))
	}
	seen := membership.Access{Known: true, Required: login.Enabled}
	if seen.HasRole, err = s.hasRole(ctx); err != nil {
		return membership.Access{}, err
	}
	for _, u := range users {
		knows, err := s.knows(ctx, u, login.Enabled)
		if err != nil {
			return membership.Access{}, err
		}
		if !knows {
			seen.Refused = append(seen.Refused, u.Name)
		}
	}
	if others {
		seen.Intruders, err = s.intruders(ctx, users)
	}
	if errors.Is(err, errTooManyUsers) {
		seen.TooManyUsers, err = true, nil
	}
	return seen, err
}

// hasRole reports whether the role of applications is as it is to be.
func (s *Server) hasRole(ctx context.Context) (bool, error) {
	role, err := s.client.RoleGet(ctx, ApplicationRole)
	if errors.Is(err, rpctypes.ErrRoleNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading role %s: %w", ApplicationRole, translate(err))
	}
	return slices.ContainsFunc(role.Perm, func(p *authpb.Permission) bool {
		return p.PermType == authpb.READWRITE && string(p.Key) == everyKey && string(p.RangeEnd) == everyKey
	}), nil
}

// knows reports whether etcd has that user with just its role and, where it asks for passwords, takes the password.
func (s *Server) knows(ctx context.Context, u User, asks bool) (bool, error) {
	found, err := s.client.UserGet(ctx, u.Name)
	if errors.Is(err, rpctypes.ErrUserNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading user %s: %w", u.Name, translate(err))
	}
	if !slices.Equal(found.Roles, []string{u.Role}) {
		return false, nil
	}
	if !asks {
		return true, nil
	}
	_, err = s.client.Authenticate(ctx, u.Name, u.Password)
	if errors.Is(err, rpctypes.ErrAuthFailed) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("logging user %s in: %w", u.Name, translate(err))
	}
	return true, nil
}

// intruders are the users that may do everything and are none of ours, and those that have a name of ours.
func (s *Server) intruders(ctx context.Context, ours []User) ([]string, error) {
	list, err := s.client.UserList(ctx)
	if status.Code(err) == codes.ResourceExhausted || err == nil && len(list.Users) > membership.MaxUsers { // the former beyond maxReply
		return nil, errTooManyUsers
	}
	if err != nil {
		return nil, fmt.Errorf("listing users: %w", translate(err))
	}
	var names []string
	for _, name := range list.Users {
		i := slices.IndexFunc(ours, func(u User) bool { return u.Name == name })
		if i >= 0 && ours[i].Role == Root {
			continue
		}
		user, err := s.client.UserGet(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("reading a user: %w", translate(err))
		}
		if slices.Contains(user.Roles, Root) || i < 0 && slices.Contains(membership.ApplicationUsers, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// AddRole makes the role of applications, or gives it its permission.
func (s *Server) AddRole(ctx context.Context) error {
	_, err := s.client.RoleAdd(ctx, ApplicationRole)
	if err == nil || errors.Is(err, rpctypes.ErrRoleAlreadyExist) {
		_, err = s.client.RoleGrantPermission(ctx, ApplicationRole, everyKey, everyKey, clientv3.PermissionType(clientv3.PermReadWrite))
	}
	if err != nil {
		return fmt.Errorf("making role %s: %w", ApplicationRole, translate(err))
	}
	return nil
}

// SetUser has etcd let a user in, by that password and with no other role.
func (s *Server) SetUser(ctx context.Context, u User) error {
	_, err := s.client.UserAdd(ctx, u.Name, u.Password)
	if errors.Is(err, rpctypes.ErrUserAlreadyExist) {
		_, err = s.client.UserChangePassword(ctx, u.Name, u.Password)
	}
	if err != nil {
		return fmt.Errorf("setting user %s: %w", u.Name, translate(err))
	}
	found, err := s.client.UserGet(ctx, u.Name)
	if err != nil {
		return fmt.Errorf("reading user %s: %w", u.Name, translate(err))
	}
	for _, role := range found.Roles {
		if role == u.Role {
			continue
		}
		if _, err := s.client.UserRevokeRole(ctx, u.Name, role); err != nil && !errors.Is(err, rpctypes.ErrRoleNotGranted) {
			return fmt.Errorf("taking a role from user %s: %w", u.Name, translate(err))
		}
	}
	if u.Role == Root {
		if _, err := s.client.RoleAdd(ctx, Root); err != nil && !errors.Is(err, rpctypes.ErrRoleAlreadyExist) {
			return fmt.Errorf("making role %s: %w", Root, translate(err))
		}
	}
	if _, err := s.client.UserGrantRole(ctx, u.Name, u.Role); err != nil {
		return fmt.Errorf("giving user %s its role: %w", u.Name, translate(err))
	}
	return nil
}

// DropUser deletes a user. One that is gone is no error.
func (s *Server) DropUser(ctx context.Context, name string) error {
	if _, err := s.client.UserDelete(ctx, name); err != nil && !errors.Is(err, rpctypes.ErrUserNotFound) {
		return fmt.Errorf("deleting a user: %w", translate(err))
	}
	return nil
}

// RequireLogin has etcd serve no client that has not logged in.
func (s *Server) RequireLogin(ctx context.Context) error {
	if _, err := s.client.AuthEnable(ctx); err != nil {
		return fmt.Errorf("requiring a login: %w", translate(err))
	}
	return nil
}
