// Package ci says what a test does where the machine lacks what it needs.
package ci

import (
	"os"
	"testing"
)

// Need skips the test on a developer's machine that lacks something, such as a server that is not installed, and fails it in CI, where nothing may
// be missing. A nil error lacks nothing.
func Need(t testing.TB, missing error) {
	t.Helper()
	switch {
	case missing == nil:
	case os.Getenv("CI") == "":
		t.Skip(missing)
	default:
		t.Fatal(missing)
	}
}
