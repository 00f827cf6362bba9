package postgres

import (
	"testing"

	"github.com/durabench/durabench/drivers/sqlrender/rendertest"
)

func TestRenderings(t *testing.T) {
	rendertest.Golden(t, dialect{}, tableName, "testdata/scans.sql")
}
