//go:build !linux

package host

import (
	"os"
	"runtime"
	"strings"
	"testing"
)

func TestOtherSystemsSayThatTheyHaveNothing(t *testing.T) {
	if u, note := Start(os.Getpid()).Stop(); u != nil || !strings.Contains(note, runtime.GOOS+" does not have") {
		t.Errorf("%+v, %q", u, note)
	}
	if held, note := Memory(os.Getpid()); held != nil || !strings.Contains(note, runtime.GOOS+" does not have") {
		t.Errorf("%+v, %q", held, note)
	}
	if u, note := StartSelf().Stop(); u != nil || note == "" {
		t.Errorf("%+v, %q", u, note)
	}
}
