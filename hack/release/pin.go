package main

import (
	"fmt"
	"regexp"
)

// pin replaces an image's name by one with a digest, wherever a text has it as a value of its own.
func pin(text, image, pinned string) (string, error) {
	value := regexp.MustCompile(`(?m)(^|[\s"'])` + regexp.QuoteMeta(image) + `($|[\s"'])`)
	if !value.MatchString(text) {
		return "", fmt.Errorf("%s is not named", image)
	}
	return value.ReplaceAllString(text, "${1}"+pinned+"${2}"), nil
}
