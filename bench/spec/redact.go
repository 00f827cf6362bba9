package spec

import (
	"regexp"
	"slices"
	"strings"
)

// Where secrets stand in arguments. Both take too much rather than too little.
var (
	userInfo      = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://[^:/?#@\s]*):[^\s]*@`)
	plainUserInfo = regexp.MustCompile(`^((?:-e|--endpoint)?=?[^:/?#@\s]*):[^\s]*@`)
	secretPair    = regexp.MustCompile(`(?i)\b((?:` + strings.Join(slices.Concat(passwordKeys, secretKeys), "|") + `)\s*=\s*)('(?:\\.|[^'\\])*'|(?:\\.|[^\s&#'\\])+)`)
)

// RedactArgs returns a command line with the passwords of its endpoints replaced by ***, for the result document. It looks at every
// argument, not at those of --endpoint only: a password in the wrong place is a password still.
func RedactArgs(args []string) []string {
	redacted := make([]string, len(args))
	for i, arg := range args {
		redacted[i] = redactText(arg)
	}
	return redacted
}

// redactText hides the secrets of one argument.
func redactText(text string) string {
	text = userInfo.ReplaceAllString(text, "$1:***@")
	if !strings.Contains(text, "://") {
		text = plainUserInfo.ReplaceAllString(text, "$1:***@")
	}
	return secretPair.ReplaceAllString(text, "$1***")
}
