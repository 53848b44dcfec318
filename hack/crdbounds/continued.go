package main

import (
	"fmt"
	"strings"
)

// continued starts the rule of a marker that continues the marker above it, so that no marker is longer than a line. What follows
// it belongs to the end of that rule, and the marker's message to the end of that message.
const continued = "..."

// joinContinued joins each rule that several markers spell in parts.
func joinContinued(rules []any) ([]any, error) {
	var joined []any
	for _, item := range rules {
		part := item.(map[string]any)
		text, _ := part["rule"].(string)
		rest, found := strings.CutPrefix(text, continued)
		if !found {
			joined = append(joined, part)
			continue
		}
		if len(joined) == 0 {
			return nil, fmt.Errorf("a marker continues %q, and no marker is above it", rest)
		}
		part["rule"] = strings.TrimSpace(rest)
		if err := appendPart(joined[len(joined)-1].(map[string]any), part); err != nil {
			return nil, err
		}
	}
	return joined, nil
}

// appendPart appends the texts of a part to those that a rule has, with a space between them.
func appendPart(whole, part map[string]any) error {
	for key, value := range part {
		switch had := whole[key].(type) {
		case nil:
			whole[key] = value
		case string:
			whole[key] = strings.TrimSpace(had + " " + value.(string))
		default:
			return fmt.Errorf("two markers of the rule %q set %s", whole["rule"], key)
		}
	}
	return nil
}

// replaceRules replaces each list of rules in a CRD by what a function makes of it.
func replaceRules(schema any, replace func(rules []any) ([]any, error)) error {
	switch schema := schema.(type) {
	case []any:
		for _, item := range schema {
			if err := replaceRules(item, replace); err != nil {
				return err
			}
		}
	case map[string]any:
		if rules, ok := schema["x-kubernetes-validations"].([]any); ok {
			replaced, err := replace(rules)
			if err != nil {
				return err
			}
			schema["x-kubernetes-validations"] = replaced
		}
		for _, value := range schema {
			if err := replaceRules(value, replace); err != nil {
				return err
			}
		}
	}
	return nil
}
