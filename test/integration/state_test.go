package integration

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mainstay-operator/mainstay-operator/controllers"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// newNamespace gives a spec a place of its own, where pods must be Restricted
// unless the level says otherwise.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	name, err := makeNamespace(ctx, "restricted")
	Expect(err).NotTo(HaveOccurred())
	return name
}

func makeNamespace(ctx context.Context, level string) (string, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "t-",
		Labels:       map[string]string{"pod-security.kubernetes.io/enforce": level},
	}}
	err := admin.Create(ctx, namespace)
	return namespace.Name, err
}

// childrenIn gives all children in a namespace, by "Kind/name".
func childrenIn(ctx context.Context, namespace string) (map[string]*unstructured.Unstructured, error) {
	found := map[string]*unstructured.Unstructured{}
	for _, kind := range controllers.Children() {
		gvk, err := apiutil.GVKForObject(kind, scheme)
		if err != nil {
			return nil, err
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := admin.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
		for i := range list.Items {
			if metav1.GetControllerOf(&list.Items[i]) != nil {
				found[gvk.Kind+"/"+list.Items[i].GetName()] = &list.Items[i]
			}
		}
	}
	return found, nil
}

// versions are the resource versions of all children: equal means untouched.
func versions(ctx context.Context, namespace string) map[string]string {
	GinkgoHelper()
	found, err := childrenIn(ctx, namespace)
	Expect(err).NotTo(HaveOccurred())
	seen := map[string]string{}
	for place, child := range found {
		seen[place] = child.GetResourceVersion()
	}
	return seen
}

// stateOf is the text of an object and its children, without what differs from run to run.
func stateOf(ctx context.Context, obj client.Object) (string, error) {
	found, err := childrenIn(ctx, obj.GetNamespace())
	if err != nil {
		return "", err
	}
	owner, err := live(ctx, obj)
	if err != nil {
		return "", err
	}
	found["owner"] = owner
	lots := append(drawn(found), maskDigests(found)...)
	state := map[string]any{}
	for place, child := range found {
		state[place] = normal(child.Object)
	}
	text, err := json.MarshalIndent(state, "", " ")
	return strings.NewReplacer(append(lots, obj.GetNamespace(), "NAMESPACE")...).Replace(string(text)), err
}

// drawn gives each password drawn by lot, and its hash, the name of its key: so
// two states are alike, and one whose Secrets do not fit together is not.
// Secrets are made readable on the way; certificates are each another.
func drawn(found map[string]*unstructured.Unstructured) []string {
	var replaced []string
	names := map[string]string{}
	for _, child := range found {
		if child.GetKind() != "Secret" {
			continue
		}
		data, _, _ := unstructured.NestedStringMap(child.Object, "data")
		for key, encoded := range data {
			value, _ := base64.StdEncoding.DecodeString(encoded)
			data[key] = string(value)
			if bytes.HasPrefix(value, []byte("-----BEGIN ")) {
				data[key] = "PEM"
			}
			if key == "version" {
				replaced = append(replaced, string(value), "VERSION")
			}
			if name, met := names[string(value)]; lot.Match(value) && (!met || key < name) { // one may be in several Secrets
				names[string(value)] = key
			}
		}
		_ = unstructured.SetNestedStringMap(child.Object, data, "data") // as it was read
	}
	for value, name := range names {
		replaced = append(replaced, value, name, fmt.Sprintf("%x", sha256.Sum256([]byte(value))), name+"'s hash")
	}
	return replaced
}

// maskDigests gives each digest keyed by the object, or name made of one, the name of its field.
func maskDigests(found map[string]*unstructured.Unstructured) []string {
	var replaced []string
	for _, child := range found {
		for _, path := range [][]string{
			{"spec", "template", "metadata", "annotations", "mainstay-operator.io/config"},
			{"spec", "template", "metadata", "annotations", "mainstay-operator.io/etcd-peer-authorities"},
			{"spec", "template", "metadata", "annotations", "mainstay-operator.io/etcd-token-key"},
			{"status", "lastRollout", "template"}, {"status", "stableReplicaSet"},
		} {
			if digest, _, _ := unstructured.NestedString(child.Object, path...); digest != "" {
				replaced = append(replaced, digest, strings.ToUpper(path[len(path)-1]))
			}
		}
	}
	return replaced
}

// lot is what rand.Text draws, once or twice.
var lot = regexp.MustCompile(`^([A-Z2-7]{26}){1,2}$`)

// live reads an object again, whatever its kind.
func live(ctx context.Context, obj client.Object) (*unstructured.Unstructured, error) {
	gvk, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		return nil, err
	}
	read := &unstructured.Unstructured{}
	read.SetGroupVersionKind(gvk)
	return read, admin.Get(ctx, client.ObjectKeyFromObject(obj), read)
}

// passing are the fields that the server allots, or that count what happened: a record's revision counts its saves.
var passing = []string{
	"uid", "resourceVersion", "creationTimestamp", "generation", "observedGeneration", "managedFields", "ownerReferences",
	"lastTransitionTime", "clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort",
	"currentRevision", "updateRevision", "mainstay-operator.io/applied", "deployment.kubernetes.io/revision",
	"startTime", "finishTime", "dataID", "token", "revision",
}

func normal(value any) any {
	switch v := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, inner := range v {
			if !slices.Contains(passing, key) || inner == corev1.ClusterIPNone {
				kept[key] = normal(inner)
			}
			if list, ok := kept[key].([]any); ok && key == "conditions" { // in the order of their history
				slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			}
			if counts, ok := kept["status"].(map[string]any); ok { // none and not yet counted are the same
				maps.DeleteFunc(counts, func(_ string, count any) bool { return count == int64(0) })
			}
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i := range v {
			kept[i] = normal(v[i])
		}
		return kept
	}
	return value
}

// conditionOf gives one condition of any kind's status, or nil.
func conditionOf(obj *unstructured.Unstructured, conditionType string) *metav1.Condition {
	encoded, err := json.Marshal(obj.Object["status"])
	if err != nil {
		return nil
	}
	var status struct{ Conditions []metav1.Condition }
	if err := json.Unmarshal(encoded, &status); err != nil {
		return nil
	}
	return meta.FindStatusCondition(status.Conditions, conditionType)
}

// checkCondition is nil when the condition of this very generation is as said, and for
// that reason where one is given.
func checkCondition(ctx context.Context, obj client.Object, conditionType string, want metav1.ConditionStatus, reason ...string) error {
	read, err := live(ctx, obj)
	if err != nil {
		return err
	}
	c := conditionOf(read, conditionType)
	switch {
	case c == nil:
		return fmt.Errorf("no condition %s", conditionType)
	case c.ObservedGeneration != read.GetGeneration():
		return fmt.Errorf("%s speaks of generation %d, not %d", conditionType, c.ObservedGeneration, read.GetGeneration())
	case c.Status != want || len(reason) > 0 && c.Reason != reason[0]:
		return fmt.Errorf("%s is %s (%s: %s)", conditionType, c.Status, c.Reason, c.Message)
	}
	return nil
}
