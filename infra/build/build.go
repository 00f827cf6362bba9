// Package build says which build of durabench is running: every result carries it.
package build

import (
	"runtime"
	"runtime/debug"

	"github.com/durabench/durabench/bench/result"
)

// version is set by the linker: -X github.com/durabench/durabench/infra/build.version=v1.2.3.
var version = ""

// Harness describes the running program. Fields that the build does not know are empty.
func Harness() result.Harness {
	h := result.Harness{Version: version, Go: runtime.Version(), Cgo: cgo}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return h
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			h.Revision = s.Value
		case "vcs.modified":
			h.Modified = s.Value == "true"
		}
	}
	if h.Version == "" {
		h.Version = info.Main.Version
	}
	if h.Version == "" {
		h.Version = "(devel)"
	}
	return h
}
