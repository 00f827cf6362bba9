package spec

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSplitEndpointTakesCredentialsOut(t *testing.T) {
	for _, test := range []struct {
		endpoint, clean, user, password string
	}{
		// URLs.
		{"postgres://bench:secret@db:5432/bench?sslmode=disable", "postgres://db:5432/bench?sslmode=disable", "bench", "secret"},
		{"redis://:root@127.0.0.1:6379/", "redis://127.0.0.1:6379/", "", "root"},
		{"redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/0", "", ""},
		{"postgres://bench@db", "postgres://db", "bench", ""},
		// The last @ before the path ends the password, and escapes are undone.
		{"postgres://u:p@ss@db/x", "postgres://db/x", "u", "p@ss"},
		{"postgres://u:p%40s%2Fs%25@db/x", "postgres://db/x", "u", "p@s/s%"},
		// Lists of hosts, which net/url does not take.
		{"postgres://u:p@a:1,b:2/x", "postgres://a:1,b:2/x", "u", "p"},
		// libpq takes credentials as parameters too.
		{"postgres://db/x?user=u&password=p%26q&sslmode=require", "postgres://db/x?sslmode=require", "u", "p&q"},
		{"postgres://db/x?password=p", "postgres://db/x", "", "p"},
		{"postgres:///x?host=/run/postgresql", "postgres:///x?host=/run/postgresql", "", ""},
		{"unix:///run/redis.sock", "unix:///run/redis.sock", "", ""},
		// Keyword strings.
		{"host=127.0.0.1 user=postgres password=postgres", "host=127.0.0.1", "postgres", "postgres"},
		{"host = db  port=5433\tpassword = 'it''s' ", "", "", ""}, // libpq ends the quote at the second one: refused below
		{`host=db password='it\'s a \\ secret' dbname='my db'`, `host=db dbname='my db'`, "", `it's a \ secret`},
		{"host = db  port=5433", "host=db port=5433", "", ""},
		{"host=db password=postgres://x", "host=db", "", "postgres://x"},
		{"host=db password= user=u", "host=db", "", "user=u"}, // libpq skips spaces behind the = and so do we
		// Plain addresses.
		{"127.0.0.1:6379", "127.0.0.1:6379", "", ""},
		{"root:pa/ss@tcp(127.0.0.1:3306)/db", "tcp(127.0.0.1:3306)/db", "root", "pa/ss"},
		{"/run/db.sock", "/run/db.sock", "", ""},
	} {
		clean, user, password, err := SplitEndpoint(test.endpoint)
		if test.clean == "" {
			if err == nil {
				t.Errorf("%s: no error", test.endpoint)
			}
			continue
		}
		got, want := []string{clean, user, password}, []string{test.clean, test.user, test.password}
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: got %q (%v), want %q", test.endpoint, got, err, want)
		}
	}
}

// Whatever cannot be split for certain is refused, and the refusal does not repeat the secret.
func TestSplitEndpointRefusesWhatItCannotSplit(t *testing.T) {
	for _, endpoint := range []string{
		"",
		" ",
		"postgres://u:Se/cret@db/x",  // the password's / ends the host, and cret@db would look like a path
		"postgres://u:Se?cret@db/x",  //
		"postgres://u:Se#cret@db/x",  //
		"postgres://u:p@db/x#Secret", //
		"postgres://u:Se%cret@db/x",
		"postgres://db/x?password=Se%cret",
		"postgres://db/x?password=Se&cret",
		"postgres://db/x?sslpassword=Secret",
		"https://db/x?access_token=Secret",
		"host=db password='Secret",
		`host=db password=Secret\`,
		"host=db sslpassword=Secret",
		"host=db Secret",
		"u:Secret@",
		"ws://u:Secret@a;ws://u:Secret@b",
	} {
		clean, user, password, err := SplitEndpoint(endpoint)
		if err == nil {
			t.Errorf("%s: split into %q, %q, %q", endpoint, clean, user, password)
		} else if strings.Contains(err.Error(), "Se") || strings.Contains(err.Error(), "cret@") {
			t.Errorf("%s: the error repeats the secret: %v", endpoint, err)
		}
		if clean+user+password != "" {
			t.Errorf("%s: an error came with %q, %q, %q", endpoint, clean, user, password)
		}
	}
}

func TestRedactArgsHidesPasswordsOnly(t *testing.T) {
	for _, test := range []struct{ arg, want string }{
		{"run", "run"},
		{"-s100k", "-s100k"},
		{"--corpus-seed=5", "--corpus-seed=5"},
		{"postgres://bench:secret@db:5432/x?sslmode=disable", "postgres://bench:***@db:5432/x?sslmode=disable"},
		{"-epostgres://bench:secret@db/x", "-epostgres://bench:***@db/x"},
		{"-re=redis://:secret@db", "-re=redis://:***@db"},
		{"--endpoint=postgres://db/x?password=secret&sslmode=disable", "--endpoint=postgres://db/x?password=***&sslmode=disable"},
		{"postgres://db:5432/x", "postgres://db:5432/x"},
		{"postgres://bench@db:5432/x", "postgres://bench@db:5432/x"},
		{"host=db user=u password=secret dbname=x", "host=db user=u password=*** dbname=x"},
		{`host=db password='se \' cret' dbname=x`, "host=db password=*** dbname=x"},
		{"host=db password='secret", "host=db password=***"},
		{"root:secret@tcp(db:3306)/x", "root:***@tcp(db:3306)/x"},
		{"--engine=sslPassword=secret", "--engine=sslPassword=***"},
		// Broken addresses lose everything that might be the password.
		{"postgres://u:se/cr?et@db/x", "postgres://u:***@db/x"},
	} {
		if got := RedactArgs([]string{test.arg})[0]; got != test.want {
			t.Errorf("%s became %s, want %s", test.arg, got, test.want)
		}
	}
}

// In every form of address, the password comes back as it was and stands in nothing that is stored.
func TestPasswordsNeverStayBehind(t *testing.T) {
	secret := rapid.StringMatching(`[ZQX]{3}[ZQX!-~ äß€]{0,12}[ZQX]`)
	rapid.Check(t, func(t *rapid.T) {
		password := secret.Draw(t, "password")
		escaped := url.PathEscape(password)
		quoted := "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(password) + "'"
		for _, endpoint := range []string{
			fmt.Sprintf("postgres://bench:%s@db:5432/rows?sslmode=disable", escaped),
			fmt.Sprintf("postgres://db:5432/rows?user=bench&password=%s&sslmode=disable", url.QueryEscape(password)),
			fmt.Sprintf("host=db user=bench password=%s dbname=rows", quoted),
			fmt.Sprintf("host=db dbname=rows user=bench password=%s", quoted),
			fmt.Sprintf("bench:%s@db:5432", password),
		} {
			clean, user, got, err := SplitEndpoint(endpoint)
			if err != nil || got != password || user != "bench" {
				t.Fatalf("%s: user %q, password %q (%v)", endpoint, user, got, err)
			}
			for _, kept := range append(RedactArgs([]string{endpoint, "-e" + endpoint, "--endpoint=" + endpoint}), clean) {
				if strings.ContainsAny(kept, "ZQX") {
					t.Fatalf("%s: %s still holds the password", endpoint, kept)
				}
			}
		}
	})
}

// Raw passwords, not escaped as the form asks for: refused or split, but never stored in part.
func TestUnescapedPasswordsNeverStayBehind(t *testing.T) {
	secret := rapid.StringMatching(`[ZQX][ZQX/?#@:&=%'\\ ]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		password := secret.Draw(t, "password")
		for _, endpoint := range []string{
			fmt.Sprintf("postgres://bench:%s@db:5432/rows", password),
			fmt.Sprintf("redis://:%s@db", password),
			fmt.Sprintf("bench:%s@db:5432", password),
		} {
			clean, _, _, err := SplitEndpoint(endpoint)
			if err != nil && strings.ContainsAny(err.Error(), "ZQX") {
				t.Fatalf("%s: the error holds the password: %v", endpoint, err)
			}
			for _, kept := range append(RedactArgs([]string{endpoint, "-e" + endpoint, "--endpoint=" + endpoint}), clean) {
				if strings.ContainsAny(kept, "ZQX") {
					t.Fatalf("%s: %s still holds the password", endpoint, kept)
				}
			}
		}
	})
}
