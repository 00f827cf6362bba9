package mysqlbase

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/durabench/durabench/drivers"
)

const (
	// connectTimeout bounds each attempt to connect and sign in.
	connectTimeout = 5 * time.Second
	// defaultDatabase is ours alone, so that on somebody's server nothing else is touched.
	defaultDatabase = "durabench"
	defaultPort     = "3306"
)

var (
	urlForm   = regexp.MustCompile(`^(mysql|mariadb)://`)
	plainForm = regexp.MustCompile(`^[^/\s@?]+(/[A-Za-z0-9_$-]*)?$`)
	nameForm  = regexp.MustCompile(`^[A-Za-z0-9_$-]{1,64}$`)
)

// endpoint is a server's address and what opens it.
type endpoint struct {
	network, address string
	user, password   string
	database         string
	tls              string // the driver's word: "", true, skip-verify or preferred
}

// parseEndpoint reads an address: mysql://host:port/database?tls=true, mysql:///database?socket=/path or host:port/database.
func parseEndpoint(p Product, text string, credentials drivers.Credentials) (endpoint, error) {
	forms := fmt.Sprintf("write it like %s://host:3306/database, %s:///database?socket=/run/mysqld/mysqld.sock or host:3306/database, with ?tls=true for TLS", p.Name, p.Name)
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return endpoint{}, fmt.Errorf("%s needs an endpoint: %s", p.Name, forms)
	case urlForm.MatchString(text):
	case plainForm.MatchString(text):
		text = "mysql://" + text
	default:
		return endpoint{}, fmt.Errorf("endpoint is in no form that %s knows: %s", p.Name, forms)
	}
	parsed, err := url.Parse(text)
	if err != nil {
		// Its text may repeat the address, with a password in it.
		return endpoint{}, fmt.Errorf("endpoint cannot be read: %s", forms)
	}
	e := endpoint{network: "tcp", address: parsed.Host, database: strings.TrimPrefix(parsed.Path, "/"), user: parsed.User.Username()}
	e.password, _ = parsed.User.Password()
	if parsed.Port() == "" {
		e.address = net.JoinHostPort(parsed.Hostname(), defaultPort)
	}
	for name, values := range parsed.Query() {
		switch value := values[len(values)-1]; name {
		case "socket":
			if parsed.Host != "" {
				return endpoint{}, fmt.Errorf("endpoint has a host and a socket: %s", forms)
			}
			e.network, e.address = "unix", value
		case "tls":
			if value != "true" && value != "skip-verify" && value != "preferred" && value != "false" {
				return endpoint{}, fmt.Errorf("endpoint has tls=%s: want true, skip-verify, preferred or false", value)
			}
			e.tls = value
		default:
			return endpoint{}, fmt.Errorf("endpoint has the unknown parameter %q: %s", name, forms)
		}
	}
	if e.network == "tcp" && parsed.Hostname() == "" {
		return endpoint{}, fmt.Errorf("endpoint names no server: %s", forms)
	}
	if e.database == "" {
		e.database = defaultDatabase
	}
	if !nameForm.MatchString(e.database) {
		return endpoint{}, fmt.Errorf("endpoint names the database %q: want up to 64 letters, digits, _, $ or -", e.database)
	}
	if credentials.User != "" {
		e.user = credentials.User
	}
	if credentials.Password != "" {
		e.password = credentials.Password
	}
	return e, nil
}

// config is how the driver signs in. Affected rows are the rows found. Sessions are strict, in UTC and in utf8mb4, whatever the server's defaults; averages
// of whole numbers and decimals have 25 more decimal places, for 4 are too few; and full-text indexes that they make have all words, which is a setting
// of the session that makes them or rebuilds their table.
func (e endpoint) config(p Product) *mysql.Config {
	config := mysql.NewConfig()
	config.User, config.Passwd = e.user, e.password
	config.Net, config.Addr = e.network, e.address
	config.TLSConfig = e.tls
	config.Timeout = connectTimeout
	config.Collation = p.collation()
	config.ClientFoundRows = true
	config.CheckConnLiveness = false // of database/sql's pool, which is not used
	config.Logger = &mysql.NopLogger{}
	config.Params = map[string]string{
		"sql_mode": "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'", "time_zone": "'+00:00'", "div_precision_increment": "25", "innodb_ft_enable_stopword": "OFF",
	}
	return config
}

// collation compares text by its bytes, trailing spaces included.
func (p Product) collation() string {
	if p.MariaDB {
		return "utf8mb4_nopad_bin"
	}
	return "utf8mb4_0900_bin"
}

// isMariaDB tells the branch from a server's version, e.g. "11.8.3-MariaDB-ubu2404".
func isMariaDB(version string) bool { return strings.Contains(strings.ToLower(version), "mariadb") }
