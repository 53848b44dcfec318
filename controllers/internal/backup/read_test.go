package backup

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// Whatever is in a termination message, a status may hold what is read from it.
func FuzzReadResult(f *testing.F) {
	const sum = `"sha256":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"`
	for _, text := range []string{
		"", "{}", "null", `{"error":"a\u0000b","permanent":true}`, `{"item":{"name":"../../x"}}`, `{"rawSize":-1}`,
		`{"item":{"name":"20260102T150405Z-89abcdef","size":3,` + sum +
			`,"serverVersion":"3.6.16"},"items":[{},{"name":"20260102T150405Z-89abcdef",` + sum + `}]}`,
		`{"item":{"name":"20260102T150405Z-89abcdef","size":-3,` + sum + `}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		result, ok := ReadResult(text)
		if !ok && (result.Item != nil || result.Error != "" || len(result.Items) > 0) {
			t.Errorf("what is no result says %+v", result)
		}
		if result.RawSize < 0 || len(result.Items) > MaxItems || !utf8.ValidString(result.Error+result.Warning) {
			t.Errorf("%+v", result)
		}
		items := result.Items
		if result.Item != nil {
			items = append(items, *result.Item)
		}
		for _, item := range items {
			if !isShown(item) {
				t.Errorf("%+v", item)
			}
		}
		if _, err := json.Marshal(result); err != nil {
			t.Error(err)
		}
	})
}

// isShown reports whether a status may hold the item.
func isShown(item commonv1.BackupItem) bool {
	started, err := ItemTime(item.Name)
	return err == nil && item.Time.Time.Equal(started) && item.Size >= 0 && len(item.SHA256) == sha256Digits &&
		len(item.ServerVersion) <= 4*maxVersion
}
