package spec

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// How addresses begin: URLs with "scheme://", libpq's keyword strings with "host=".
var (
	schemeForm  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)
	keywordForm = regexp.MustCompile(`^[A-Za-z_]+\s*=`)
)

// Names under which connection strings carry what SplitEndpoint takes out of them. Other secrets cannot be carried, so they are refused
// rather than stored.
var (
	userKeys     = []string{"user", "username"}
	passwordKeys = []string{"password", "pass", "passwd", "pwd"}
	secretKeys   = []string{"sslpassword", "token", "access_token", "auth_token", "authtoken", "secret", "apikey", "api_key"}
)

// SplitEndpoint takes the credentials out of an address: clean is what is left of it. It reads URLs ("redis://user:password@host:6379/0"),
// libpq's keyword strings ("host=… user=… password=…") and plain addresses, with or without "user:password@" before them. An error never
// repeats any part of the address.
func SplitEndpoint(endpoint string) (clean, user, password string, err error) {
	endpoint = strings.TrimSpace(endpoint)
	switch scheme := schemeForm.FindString(endpoint); {
	case endpoint == "":
		return "", "", "", errors.New("is empty")
	case scheme != "":
		return splitURL(scheme, endpoint[len(scheme):])
	case keywordForm.MatchString(endpoint):
		return splitKeywords(endpoint)
	}
	if at := strings.LastIndex(endpoint, "@"); at >= 0 {
		user, password, _ = strings.Cut(endpoint[:at], ":")
		endpoint = endpoint[at+1:]
		if endpoint == "" {
			return "", "", "", errors.New("no host after the @")
		}
	}
	return endpoint, user, password, nil
}

// splitURL takes apart what follows scheme, which ends in "://". net/url is no help here: it rejects the lists of hosts that databases
// take. Whatever could be the rest of a password with a character that needed an escape is refused, lest it stays in clean.
func splitURL(scheme, rest string) (clean, user, password string, err error) {
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	if strings.ContainsAny(tail, "@#") {
		return "", "", "", errors.New("an @ or # stands behind the host: write / ? # @ in a user or password as %2F %3F %23 %40")
	}
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		rawUser, rawPassword, _ := strings.Cut(authority[:at], ":")
		authority = authority[at+1:]
		if user, err = url.PathUnescape(rawUser); err == nil {
			password, err = url.PathUnescape(rawPassword)
		}
		if err != nil {
			return "", "", "", errors.New("the user or password holds a % that is no escape: write it as %25")
		}
	}
	path, query, hasQuery := strings.Cut(tail, "?")
	if !hasQuery || query == "" {
		return scheme + authority + path, user, password, nil
	}
	var kept []string
	for pair := range strings.SplitSeq(query, "&") {
		name, value, found := strings.Cut(pair, "=")
		if !found {
			return "", "", "", errors.New("a parameter has no value: write & in a password as %26")
		}
		value, err := url.QueryUnescape(value)
		if err != nil {
			return "", "", "", errors.New("a parameter holds a % that is no escape: write it as %25")
		}
		switch take, err := role(name); {
		case err != nil:
			return "", "", "", err
		case take == "user":
			user = value
		case take == "password":
			password = value
		default:
			kept = append(kept, pair)
		}
	}
	if len(kept) > 0 {
		path += "?" + strings.Join(kept, "&")
	}
	return scheme + authority + path, user, password, nil
}

// role tells what a parameter is: "user", "password", or "" for one that stays. A secret of another kind is an error.
func role(name string) (string, error) {
	name = strings.ToLower(name)
	switch {
	case slices.Contains(secretKeys, name):
		return "", fmt.Errorf("parameter %s is a secret that cannot be carried apart from the address; give it in the environment", name)
	case slices.Contains(userKeys, name):
		return "user", nil
	case slices.Contains(passwordKeys, name):
		return "password", nil
	}
	return "", nil
}

// splitKeywords takes apart a libpq keyword string.
func splitKeywords(text string) (clean, user, password string, err error) {
	var kept []string
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		name, after, found := strings.Cut(rest, "=")
		name = strings.TrimSpace(name)
		if !found || name == "" || strings.ContainsAny(name, " \t\r\n'\\") {
			return "", "", "", errors.New("not of the form key=value key='value' …")
		}
		var value, raw string
		value, raw, rest, err = keywordValue(strings.TrimLeft(after, " \t\r\n"))
		if err != nil {
			return "", "", "", err
		}
		switch take, err := role(name); {
		case err != nil:
			return "", "", "", err
		case take == "user":
			user = value
		case take == "password":
			password = value
		default:
			kept = append(kept, name+"="+raw)
		}
	}
	return strings.Join(kept, " "), user, password, nil
}

// keywordValue reads one value: bare up to the next space, or in single quotes; a backslash takes the next character as it is.
func keywordValue(text string) (value, raw, rest string, err error) {
	quoted := strings.HasPrefix(text, "'")
	i := 0
	if quoted {
		i = 1
	}
	var b strings.Builder
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			if i++; i == len(text) {
				return "", "", "", errors.New("ends in a backslash")
			}
			b.WriteByte(text[i])
		case quoted && c == '\'':
			return b.String(), text[:i+1], text[i+1:], nil
		case !quoted && strings.IndexByte(" \t\r\n", c) >= 0:
			return b.String(), text[:i], text[i:], nil
		default:
			b.WriteByte(c)
		}
	}
	if quoted {
		return "", "", "", errors.New("a quote is not closed")
	}
	return b.String(), text, "", nil
}
