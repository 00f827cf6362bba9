package drivertest

import (
	"os"
	"path/filepath"
)

// Tool is where scripts/test-deps.sh puts what the tests need and the machine has no package of.
func Tool(name string) string {
	tools := os.Getenv("DURABENCH_TOOLS")
	if tools == "" {
		cache := os.Getenv("XDG_CACHE_HOME")
		if cache == "" {
			cache = filepath.Join(os.Getenv("HOME"), ".cache")
		}
		tools = filepath.Join(cache, "durabench", "bin")
	}
	return filepath.Join(tools, name)
}
