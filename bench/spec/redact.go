package spec

import (
	"regexp"
	"slices"
	"strings"
)

// Where secrets stand in arguments. All of them take too much rather than too little.
var (
	userInfo      = regexp.MustCompile(`(?s)([A-Za-z][A-Za-z0-9+.-]*://[^:/?#@]*):.*@`)
	urlForm       = regexp.MustCompile(`^(?:-[A-Za-z]*=?|--[a-z-]+=)?[A-Za-z][A-Za-z0-9+.-]*://`)
	plainUserInfo = regexp.MustCompile(`(?s)^([^:/?#@]*):.*@`)
	secretNames   = strings.Join(slices.Concat(passwordKeys, secretKeys), "|")
	secretURL     = regexp.MustCompile(`(?is)((?:` + secretNames + `)=)[^&]*`)
	secretKeyword = regexp.MustCompile(`(?is)((?:` + secretNames + `)\s*=\s*)(?:'(?:\\.|[^'\\])*'?|(?:\\.|\S)*)`)
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
	if urlForm.MatchString(text) {
		text = userInfo.ReplaceAllString(text, "$1:***@")
		return secretURL.ReplaceAllString(text, "$1***")
	}
	text = plainUserInfo.ReplaceAllString(text, "$1:***@")
	return secretKeyword.ReplaceAllString(text, "$1***")
}
