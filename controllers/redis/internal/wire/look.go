package wire

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// misconf is the code of a server that cannot write to its disk.
const misconf = "MISCONF"

// signsOfLife are the codes of errors that only a running server returns: each is about the state of its data, or about
// the rights of the user that has logged in.
var signsOfLife = []string{Busy, "LOADING", "MASTERDOWN", misconf, "NOPERM", "OOM"}

// Look asks the server what it is. An error is part of the answer.
func (s *Server) Look(ctx context.Context) View {
	info, err := s.client.Info(ctx).Result()
	switch code := errorCode(err); {
	case err == nil:
	case errors.Is(err, syscall.ECONNREFUSED):
		return View{Answer: Refused}
	case s.unconfirmed.Load():
		return View{Answer: Unconfirmed}
	case code == "WRONGPASS", code == "NOAUTH":
		return View{Answer: AuthFailed}
	case s.loggedIn.Load() && slices.Contains(signsOfLife, code):
		return View{Answer: ErrorReply, ErrorCode: code}
	default:
		return View{Answer: Silent, Unreadable: unreadableReason(err)}
	}
	view, err := parse(info)
	if err != nil {
		return View{Answer: Silent, Unreadable: unreadableReason(err)}
	}
	if err := s.queryDetails(ctx, &view); err != nil { // half an answer is none
		if errorCode(err) == Busy {
			return View{Answer: ErrorReply, ErrorCode: Busy}
		}
		return View{Answer: Silent}
	}
	return view
}

// queryDetails asks for what INFO does not show. It fails if the server does not answer, or answers BUSY: a script may
// start between any two questions.
func (s *Server) queryDetails(ctx context.Context, view *View) error {
	// The one command that refuses as a write does, of whatever role the server is.
	err := s.client.Ping(ctx).Err()
	if endsLook(err) {
		return err
	}
	view.Misconf = errorCode(err) == misconf
	values, err := s.queryDirective(ctx, minReplicas)
	if err != nil {
		return err
	}
	view.MinReplicas = int32(parseNumber(values)) //nolint:gosec // a small number
	if values, err = s.queryDirective(ctx, serveStale); err != nil {
		return err
	}
	view.ServesStale = values == "yes"
	if s.usesTLS {
		view.Certificate, err = s.queryDirective(ctx, certificateDirective)
	}
	return err
}

// queryDirective returns the value of a directive, "" if the server refuses to show it.
func (s *Server) queryDirective(ctx context.Context, name string) (string, error) {
	values, err := s.client.ConfigGet(ctx, name).Result()
	if endsLook(err) {
		return "", err
	}
	return values[name], nil
}

// endsLook reports whether an error is no answer to the question: the server is busy, or does not answer at all.
func endsLook(err error) bool {
	return err != nil && (errorCode(err) == "" || errorCode(err) == Busy)
}

// errorCode returns the word that a server's error reply starts with, such as BUSY; "" for an error that is no reply.
func errorCode(err error) string {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return ""
	}
	code, _, _ := strings.Cut(reply.Error(), " ")
	return code
}
