package build

import (
	"runtime"
	"testing"
)

func TestHarnessAlwaysNamesAVersion(t *testing.T) {
	h := Harness()
	if h.Version == "" || h.Go != runtime.Version() {
		t.Fatalf("harness %+v: version or Go version missing", h)
	}
}
