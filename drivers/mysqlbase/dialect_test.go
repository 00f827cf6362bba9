package mysqlbase

import (
	"testing"

	"github.com/durabench/durabench/drivers/sqlrender/rendertest"
)

func TestRenderings(t *testing.T) {
	for _, product := range []Product{{Name: "mariadb", MariaDB: true}, {Name: "mysql"}} {
		t.Run(product.Name, func(t *testing.T) {
			rendertest.Golden(t, dialect{product, assumed}, tableName, "testdata/"+product.Name+".sql")
		})
	}
}
