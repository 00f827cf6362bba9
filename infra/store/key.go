package store

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of keys in bytes. 255 is what every common filesystem takes for one name.
const (
	maxKey  = 1024
	maxPart = 255
)

// ValidKey returns an error when key cannot name anything in a store: each of its parts, split at "/", is a plain name in UTF-8 that no
// filesystem or shell reads as a way out of its directory. Spaces and letters of every script are fine.
func ValidKey(key string) error {
	if err := validKey(key); err != nil {
		return fmt.Errorf("key %q: %w", key, err)
	}
	return nil
}

func validKey(key string) error {
	switch {
	case key == "":
		return errors.New("is empty")
	case len(key) > maxKey:
		return fmt.Errorf("has %d bytes, more than %d", len(key), maxKey)
	case !utf8.ValidString(key):
		return errors.New("is not UTF-8")
	case strings.HasPrefix(key, "/"):
		return errors.New("is absolute; keys are relative")
	case strings.Contains(key, `\`):
		return errors.New(`holds a "\"; the separator is "/"`)
	case strings.ContainsFunc(key, unicode.IsControl):
		return errors.New("holds a control character")
	}
	for part := range strings.SplitSeq(key, "/") {
		switch {
		case part == "":
			return errors.New("has an empty part")
		case part == "." || part == "..":
			return fmt.Errorf("has the part %q", part)
		case len(part) > maxPart:
			return fmt.Errorf("has a part of %d bytes, more than %d", len(part), maxPart)
		case strings.HasPrefix(part, temporary):
			return fmt.Errorf("has a part that begins with %q, the mark of unfinished writes", temporary)
		}
	}
	return nil
}
