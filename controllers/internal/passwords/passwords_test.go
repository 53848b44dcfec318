package passwords

import (
	"strings"
	"testing"
)

func TestFromSecret(t *testing.T) {
	for _, c := range []struct {
		reason, problem string
		data            map[string][]byte
	}{
		{"none", "there is no Secret", nil},
		{"no key", `no key "password"`, map[string][]byte{"pass": []byte("x")}},
		{"empty", `no key "password"`, map[string][]byte{"password": {}}},
		{"a newline", "control character", map[string][]byte{"password": []byte("x\n")}},
		{"too long", "longer than 72 bytes", map[string][]byte{"password": []byte(strings.Repeat("x", 73))}},
		{"the longest", "", map[string][]byte{"password": []byte(strings.Repeat("x", 72))}},
		{"a password", "", map[string][]byte{"password": []byte("sécret \x80")}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			password, problem := FromSecret("theirs", c.data, 72)
			if (c.problem == "") != (problem == "") || !strings.Contains(problem, c.problem) || (password == "") != (problem != "") {
				t.Errorf("got %q, %q", password, problem)
			}
			if problem != "" && !strings.Contains(problem, `"theirs"`) {
				t.Errorf("which Secret? %s", problem)
			}
		})
	}
}
