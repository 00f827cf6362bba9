package mysqlbase

import (
	"errors"
	"strings"
	"testing"

	"github.com/durabench/durabench/drivers"
)

func TestServersWithoutVectorsAreRefused(t *testing.T) {
	for version, want := range map[string]string{
		"10.11.19-MariaDB-0+deb12u1": "vectors came with 11.7", "11.6.2-MariaDB": "vectors came with 11.7", "11.4.9-MariaDB-ubu2404": "11.4.9", "unknown": "does not tell",
		"11.7.2-MariaDB": "", "11.8.9-MariaDB-0+deb13u1 from Debian": "", "12.0.2-MariaDB": "",
	} {
		d := &database{product: Product{Title: "MariaDB", MariaDB: true}, version: version, load: drivers.Config{Searches: true}}
		err := d.checkSearches()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", version, err, want)
		}
		d.load.Searches = false
		if err := d.checkSearches(); err != nil {
			t.Errorf("%s, for rows that are not searched: %v", version, err)
		}
	}
	d := &database{product: Product{Title: "MySQL"}, version: "9.7.4", load: drivers.Config{Searches: true}}
	if err := d.checkSearches(); !errors.As(err, new(drivers.Unsupported)) {
		t.Errorf("MySQL: %v", err)
	}
}
