package controllers

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
)

// A field that names the account of a pod, or asks for its token or certificate, could name the manager: the operator
// must refuse every new one as easyservice/account.go does.
func TestEveryFieldThatNamesAnAccountIsKnown(t *testing.T) {
	refused := map[reflect.Type][]string{
		reflect.TypeFor[appv1.EasyServiceSpec](): {
			"serviceAccountName", "volumes.projected.sources.podCertificate", "volumes.projected.sources.serviceAccountToken",
		},
	}
	for _, k := range kinds {
		spec := reflect.TypeOf(k.object).Elem()
		field, ok := spec.FieldByName("Spec")
		if !ok {
			t.Errorf("%s has no spec", spec)
			continue
		}
		found := accountFields(field.Type, "", 0)
		slices.Sort(found)
		if !slices.Equal(slices.Compact(found), refused[field.Type]) {
			t.Errorf("%s: %q, want %q", field.Type, found, refused[field.Type])
		}
	}
}

// accountFields returns the paths of the fields that have to do with accounts.
func accountFields(in reflect.Type, path string, depth int) (found []string) {
	const deepest = 16 // of types that hold themselves
	switch in.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return accountFields(in.Elem(), path, depth)
	case reflect.Struct:
	default:
		return nil
	}
	for i := range in.NumField() {
		field := in.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		at := strings.TrimPrefix(path+"."+name, ".")
		if name == "" {
			at = path
		}
		lower := strings.ToLower(name)
		if strings.Contains(lower, "serviceaccount") || strings.Contains(lower, "podcertificate") {
			found = append(found, at)
		} else if depth < deepest {
			found = append(found, accountFields(field.Type, at, depth+1)...)
		}
	}
	return found
}
