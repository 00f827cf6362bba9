package drivertest

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/durabench/durabench/infra/ci"
)

// Trixie returns the path of a server's program in the folder of Debian 13's servers, e.g. postgres, which scripts/test-deps.sh makes: it has
// PostgreSQL 17 with pgvector, MariaDB 11.8 and Redis 8. The test skips where a developer's machine has no such folder. Its bin is also fit for PATH.
func Trixie(tb testing.TB, program string) string {
	tb.Helper()
	path := filepath.Join(cmp.Or(os.Getenv("DURABENCH_TRIXIE"), "/var/cache/durabench/trixie"), "bin", program)
	if _, err := os.Stat(path); err != nil {
		ci.Need(tb, fmt.Errorf("the folder of Debian 13's servers: %w; run scripts/test-deps.sh as root on Debian", err))
	}
	return path
}
