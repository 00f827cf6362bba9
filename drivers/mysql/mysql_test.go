//go:build mysql

package mysql_test

import (
	"os"
	"testing"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/conformance"
	_ "github.com/durabench/durabench/drivers/mysql"
)

// The environment variables name a MySQL server to run the suite against, whose database "durabench" is ours to fill: no package of a stable
// distribution has one. Everything but names and settings is tested with MariaDB in drivers/mariadb.
const (
	endpointEnv = "DURABENCH_TEST_MYSQL"          // mysql://127.0.0.1:3306
	passwordEnv = "DURABENCH_TEST_MYSQL_PASSWORD" // of root
)

func TestConformance(t *testing.T) {
	endpoint := os.Getenv(endpointEnv)
	if endpoint == "" {
		t.Fatalf("set %s and %s to a MySQL server", endpointEnv, passwordEnv)
	}
	engine, _ := drivers.Lookup("mysql")
	conformance.Run(t, conformance.Harness{
		Engine: engine,
		Configure: func(t *testing.T, config *drivers.Config) {
			if config.Tier != drivers.TierOS || config.Profile.Optimised {
				t.Skip("the server is as its vendor ships it")
			}
			config.Endpoint, config.Credentials = endpoint, drivers.Credentials{User: "root", Password: os.Getenv(passwordEnv)}
		},
		Splits:        map[string]int{conformance.BatchCreate: 21_845, conformance.BatchRead: 10_000, conformance.BatchUpdate: 21_845, conformance.BatchDelete: 10_000},
		RefusesSearch: func(*query.Search) bool { return true },
		Refuses: func(s *query.Scan) bool {
			return engine.Ability.(drivers.IndexNeeder).NeedsIndex(s, query.Index{}) != ""
		},
	})
}
