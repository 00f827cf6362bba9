package sqlite

import (
	"testing"

	"github.com/durabench/durabench/drivers/sqlrender/rendertest"
)

func TestRenderings(t *testing.T) {
	rendertest.Golden(t, assumed, quote("record"), "testdata/scans.sql")
}
