package all

import (
	"slices"
	"testing"

	"github.com/durabench/durabench/drivers"
)

func TestEveryEngineIsRegistered(t *testing.T) {
	if got, want := drivers.Names(), []string{"dragonfly", "dry", "keydb", "map", "mariadb", "mongodb", "mysql", "postgres", "redis", "sqlite", "surrealdb", "valkey"}; !slices.Equal(got, want) {
		t.Errorf("registered are %v, want %v", got, want)
	}
}
