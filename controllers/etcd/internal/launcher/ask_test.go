package launcher

import (
	"io"
	"strings"
	"testing"
)

// zeros are an answer without an end.
type zeros struct{}

func (zeros) Read(into []byte) (int, error) {
	clear(into)
	return len(into), nil
}

// The data of a backup may have any number of users, and a server may say anything.
func TestAnAnswerIsBounded(t *testing.T) {
	if body, err := readAnswer("/v3/auth/user/list", io.LimitReader(zeros{}, answerLimit)); len(body) != answerLimit || err != nil {
		t.Errorf("got %d bytes, %v", len(body), err)
	}
	const want = "/v3/auth/user/list answers more than 4 MiB"
	if body, err := readAnswer("/v3/auth/user/list", zeros{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %d bytes, %v, want %q", len(body), err, want)
	}
}
