package converge

import (
	"encoding/json"
	"testing"
)

func TestIsSubset(t *testing.T) {
	for _, c := range []struct {
		reason, want, live string
		holds              bool
	}{
		{"equal", `{"a":1,"b":"x"}`, `{"a":1,"b":"x"}`, true},
		{"live has more", `{"a":1}`, `{"a":1,"b":2}`, true},
		{"live has less", `{"a":1,"b":2}`, `{"a":1}`, false},
		{"another value", `{"a":1}`, `{"a":2}`, false},
		{"another type", `{"a":"1"}`, `{"a":1}`, false},
		{"a zero that the API drops", `{"a":false,"b":0,"c":""}`, `{}`, true},
		{"a zero where live has a value", `{"a":false}`, `{"a":true}`, false},
		{"an empty map that the API drops", `{"a":{}}`, `{}`, true},
		{"an empty list that the API drops", `{"a":[]}`, `{}`, true},
		{"a map where live has a scalar", `{"a":{"b":0}}`, `{"a":1}`, false},
		{"a list in order", `{"a":["-m","64"]}`, `{"a":["-m","64"]}`, true},
		{"a list in another order", `{"a":["-m","64"]}`, `{"a":["64","-m"]}`, false},
		{"a longer live list", `{"a":["x"]}`, `{"a":["x","y"]}`, false},
		{"a missing list", `{"a":["x"]}`, `{}`, false},
		{"named items with a sidecar", `{"a":[{"name":"x","v":1}]}`, `{"a":[{"name":"y"},{"name":"x","v":1,"w":2}]}`, true},
		{"a named item gone", `{"a":[{"name":"x"}]}`, `{"a":[{"name":"y"}]}`, false},
		{"a named item edited", `{"a":[{"name":"x","v":1}]}`, `{"a":[{"name":"x","v":2}]}`, false},
		{"items of one name go by order", `{"a":[{"name":"x","v":1},{"name":"x","v":2}]}`, `{"a":[{"name":"x","v":1},{"name":"x","v":2}]}`, true},
		{"items without names go by order", `{"a":[{"key":"x","v":1}]}`, `{"a":[{"key":"x","v":1,"w":2}]}`, true},
		{"a selector with a key more", `{"selector":{"a":"x"}}`, `{"selector":{"a":"x","b":"y"}}`, false},
		{"a selector with more than labels", `{"podSelector":{"matchLabels":{"a":"x"}}}`,
			`{"podSelector":{"matchLabels":{"a":"x"},"matchExpressions":[{"key":"b"}]}}`, false},
		{"a selector of all", `{"podSelector":{}}`, `{}`, true},
		{"the same selector", `{"nodeSelector":{"a":"x"}}`, `{"nodeSelector":{"a":"x"},"c":"z"}`, true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := isSubset(decode(t, c.want), decode(t, c.live)); got != c.holds {
				t.Errorf("holds(%s, %s) is %t", c.want, c.live, got)
			}
		})
	}
}

func TestIsSubsetComparesNumbersOfAllTypes(t *testing.T) {
	for _, n := range []any{int(3), int32(3), int64(3), float64(3)} {
		if !isSubset(map[string]any{"a": n}, map[string]any{"a": int64(3)}) {
			t.Errorf("%T 3 is not 3", n)
		}
	}
}

func decode(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestForeignPortEdits(t *testing.T) {
	for _, c := range []struct{ reason, want, live, edits string }{
		{
			"nothing foreign",
			`{"spec":{"ports":[{"name":"a","port":80}]}}`,
			`{"spec":{"ports":[{"name":"a","port":80,"protocol":"TCP","nodePort":30001}]}}`,
			`null`,
		},
		{
			"a number edited keeps what the server allotted",
			`{"spec":{"ports":[{"name":"a","port":80,"protocol":"TCP"}]}}`,
			`{"spec":{"ports":[{"name":"a","port":81,"protocol":"TCP","nodePort":30001}]}}`,
			`[{"op":"replace","path":"/spec/ports","value":[{"name":"a","nodePort":30001,"port":80,"protocol":"TCP"}]}]`,
		},
		{
			"TCP and UDP of one number are two ports",
			`{"spec":{"ports":[{"name":"a","port":53,"protocol":"UDP"},{"name":"b","port":53}]}}`,
			`{"spec":{"ports":[{"name":"b","port":53,"protocol":"TCP"},{"name":"a","port":53,"protocol":"UDP"}]}}`,
			`null`,
		},
		{
			"a sidecar's ports are its own",
			`{"containers":[{"name":"x","ports":[{"name":"a","containerPort":80}]}]}`,
			`{"containers":[{"name":"side","ports":[{"containerPort":1}]},{"name":"x","ports":[{"name":"a","containerPort":81}]}]}`,
			`[{"op":"replace","path":"/containers/1/ports","value":[{"containerPort":80,"name":"a"}]}]`,
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			edits, err := json.Marshal(foreignPortEdits(decode(t, c.want), decode(t, c.live), ""))
			if err != nil || string(edits) != c.edits {
				t.Errorf("got %s, %v, want %s", edits, err, c.edits)
			}
		})
	}
}
