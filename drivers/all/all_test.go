package all

import (
	"slices"
	"testing"

	"github.com/durabench/durabench/drivers"
)

func TestEveryEngineIsRegistered(t *testing.T) {
	if got, want := drivers.Names(), []string{"dry", "map", "mariadb", "mongodb", "mysql", "postgres", "redis", "sqlite", "surrealdb"}; !slices.Equal(got, want) {
		t.Errorf("registered are %v, want %v", got, want)
	}
}
