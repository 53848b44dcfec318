package v1_test

import (
	"encoding/json"
	"testing"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
)

func TestWhatCannotBeReadIsLeftOut(t *testing.T) {
	const poor = `{"metadata":{"name":"poor"},"spec":{"image":"a","size":2,"resources":{"limits":{"cpu":"1e1.5"}},
		"strategy":{"maxSurge":99999999999}},"status":{"replicas":1,"lastRollout":{"startTime":"soon"}}}`
	var list appv1.EasyServiceList
	if err := json.Unmarshal([]byte(`{"items":[`+poor+`,{"metadata":{"name":"good"},"spec":{"image":"b"}}]}`), &list); err != nil {
		t.Fatal(err)
	}
	left, good := list.Items[0], list.Items[1]
	const why = `resources: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'; ` +
		`status.lastRollout: parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006"; ` +
		`strategy: json: cannot unmarshal number 99999999999 into Go struct field Strategy.spec.strategy.maxSurge of type int32`
	if left.GetUnreadable() != why {
		t.Errorf("got %s", left.GetUnreadable())
	}
	if left.Name != "poor" || left.Spec.Image != "a" || *left.Spec.Size != 2 || left.Status.Replicas != 1 {
		t.Errorf("what can be read is lost: %+v", left)
	}
	if good.GetUnreadable() != "" || good.Spec.Image != "b" {
		t.Errorf("got %+v", good)
	}
	if text, err := json.Marshal(left); err != nil || json.Unmarshal(text, &left) != nil || left.GetUnreadable() != "" {
		t.Errorf("it is sent along: %s, %v", text, err)
	}
}

func TestNoObjectAtAllIsAnError(t *testing.T) {
	for _, text := range []string{`{"metadata":{"name":1}}`, `[]`, `{"spec":"words"}`} {
		if err := json.Unmarshal([]byte(text), &appv1.EasyService{}); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}
