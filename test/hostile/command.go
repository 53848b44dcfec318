package hostile

import (
	"bufio"
	"strconv"
	"strings"
)

// ReadCommand reads the words of one command of a client that is ours: a list of RESP, or a line.
func ReadCommand(from *bufio.Reader) ([]string, error) {
	line, err := from.ReadString('\n')
	if err != nil {
		return nil, err
	}
	count, isList := strings.CutPrefix(strings.TrimSpace(line), "*")
	if !isList {
		return strings.Fields(line), nil
	}
	n, err := strconv.Atoi(count)
	if err != nil {
		return nil, err
	}
	var words []string
	for range n {
		if _, err := from.ReadString('\n'); err != nil { // the word's length: ours hold no line breaks
			return nil, err
		}
		word, err := from.ReadString('\n')
		if err != nil {
			return nil, err
		}
		words = append(words, strings.TrimSpace(word))
	}
	return words, nil
}
