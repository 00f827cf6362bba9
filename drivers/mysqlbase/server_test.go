package mysqlbase

import (
	"slices"
	"strings"
	"testing"

	"github.com/durabench/durabench/drivers"
)

// MySQL has a second protocol, whose port is open to the network by default, and packages have it look for a directory that only they make.
func TestMySQLListensOnceAndNeedsNothingOfItsPackage(t *testing.T) {
	for _, mariaDB := range []bool{false, true} {
		server := Server([]string{"mysqld"}, "install it", "mysql:1", mariaDB)
		for _, container := range []bool{false, true} {
			l := drivers.Launch{Binary: "mysqld", Dir: "/run/x", Data: "/run/x/data", Host: "127.0.0.1", Port: 3306, Password: "secret", Container: container}
			command := server.Command(l)
			for _, argument := range []string{"--loose-mysqlx=OFF", "--secure-file-priv=NULL"} {
				if slices.Contains(command, argument) == mariaDB {
					t.Errorf("MariaDB %t, container %t: %v has %s: %t", mariaDB, container, command, argument, mariaDB)
				}
			}
			if text := strings.Join(command, " "); strings.Contains(text, "secret") || !strings.Contains(text, "--bind-address=127.0.0.1") || !strings.Contains(text, "--datadir=/run/x/data") {
				t.Errorf("the command is %s", text)
			}
			for name, content := range server.Files(l) {
				// In a container the entrypoint comes first, by an account that is still open.
				if closes := strings.Contains(content, "ALTER USER 'root'@'localhost'"); name == accountsFile && closes == container {
					t.Errorf("container %t: %s closes root's account: %t", container, name, closes)
				}
			}
		}
	}
}
