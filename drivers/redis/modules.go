package redis

import (
	"os"
	"path/filepath"

	"github.com/durabench/durabench/drivers"
)

// queryEngine is the file of the module with Redis's query engine.
const queryEngine = "redisearch.so"

// modules has a server that we start load its query engine where it is installed: beside the server's program, or in lib/redis/modules beside the folder of
// the program, where the vendor's own installation puts it. A container's server is as its image has it.
func modules(command func(drivers.Launch) []string) func(drivers.Launch) []string {
	return func(l drivers.Launch) []string {
		line := command(l)
		if l.Container {
			return line
		}
		folder := filepath.Dir(l.Binary)
		for _, folder := range []string{folder, filepath.Join(folder, "..", "lib", "redis", "modules")} {
			module := filepath.Join(folder, queryEngine)
			if info, err := os.Stat(module); err == nil && info.Mode().IsRegular() {
				return append(line, "--loadmodule", module)
			}
		}
		return line
	}
}
