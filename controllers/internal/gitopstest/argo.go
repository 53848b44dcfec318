package gitopstest

import (
	"fmt"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// healthCheck returns the script by which Argo CD judges objects of the kind.
func healthCheck(t *testing.T, kind string) string {
	t.Helper()
	var argo corev1.ConfigMap
	if err := yaml.UnmarshalStrict(readManifest(t, "config/gitops/argocd-cm.yaml"), &argo); err != nil {
		t.Fatal(err)
	}
	for key, script := range argo.Data {
		if strings.HasPrefix(key, "resource.customizations.health.") && strings.HasSuffix(key, "_"+kind) {
			return script
		}
	}
	t.Fatalf("config/gitops/argocd-cm.yaml has no health check of %s", kind)
	return ""
}

// runHealthCheck runs the script as Argo CD does: with the object as the global obj, and with no more than the base library.
func runHealthCheck(script string, object *unstructured.Unstructured) (health, message string, err error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	openBase := lua.P{Fn: state.NewFunction(lua.OpenBase), Protect: true}
	if err := state.CallByParam(openBase, lua.LString(lua.BaseLibName)); err != nil {
		return "", "", err
	}
	state.SetGlobal("obj", toLua(state, object.Object))
	if err := state.DoString(script); err != nil {
		return "", "", err
	}
	result, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return "", "", fmt.Errorf("the health check returns a %s, not a table", state.Get(-1).Type())
	}
	return result.RawGetString("status").String(), result.RawGetString("message").String(), nil
}

// toLua returns a value of an unstructured object as a value of Lua.
func toLua(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, element := range value {
			table.RawSetString(key, toLua(state, element))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, element := range value {
			table.Append(toLua(state, element))
		}
		return table
	case string:
		return lua.LString(value)
	case bool:
		return lua.LBool(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	}
	return lua.LNil
}
