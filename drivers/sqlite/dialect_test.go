package sqlite

import (
	"testing"

	"github.com/durabench/durabench/drivers/sqlrender/rendertest"
)

func TestRenderings(t *testing.T) {
	rendertest.Golden(t, assumed, quote("record"), "testdata/scans.sql")
}

// FuzzLiterals tells that no literal becomes part of a statement.
func FuzzLiterals(f *testing.F) { rendertest.FuzzLiterals(f, assumed, quote("record")) }
