package postgres

import (
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/durabench/durabench/drivers"
)

// connectTimeout bounds each attempt to connect, where the endpoint does not say otherwise.
const connectTimeout = 5 * time.Second

// applicationName is how our sessions show in pg_stat_activity.
const applicationName = "durabench"

var (
	urlForm     = regexp.MustCompile(`^postgres(ql)?://`)
	keywordForm = regexp.MustCompile(`^\s*[a-z_]+\s*=`)
	plainForm   = regexp.MustCompile(`^[^/=\s]+$`)
)

// parseEndpoint reads an address: a URL, libpq's keyword string, or host:port. What it leaves open comes from libpq's environment
// variables and files, as for any client of PostgreSQL.
func parseEndpoint(endpoint string, credentials drivers.Credentials) (*pgconn.Config, error) {
	const forms = `write it like postgres://host:5432/database, "host=… port=… dbname=…" or host:5432`
	endpoint = strings.TrimSpace(endpoint)
	switch {
	case endpoint == "":
		return nil, fmt.Errorf("postgres needs an endpoint: %s", forms)
	case urlForm.MatchString(endpoint), keywordForm.MatchString(endpoint):
	case plainForm.MatchString(endpoint):
		endpoint = "postgres://" + endpoint + "/"
	default:
		return nil, fmt.Errorf("endpoint is in no form that postgres knows: %s", forms)
	}
	config, err := pgconn.ParseConfig(endpoint)
	if err != nil {
		return nil, fmt.Errorf("endpoint: %w; %s", err, forms)
	}
	if credentials.User != "" {
		config.User = credentials.User
	}
	if credentials.Password != "" {
		config.Password = credentials.Password
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = applicationName
	}
	config.RuntimeParams["client_encoding"] = "UTF8"
	return config, nil
}

// addresses lists where a configuration connects to.
func addresses(config *pgconn.Config) string {
	text := address(config.Host, config.Port)
	for _, fallback := range config.Fallbacks {
		if next := address(fallback.Host, fallback.Port); !strings.Contains(text, next) {
			text += ", " + next
		}
	}
	return text
}

func address(host string, port uint16) string {
	if strings.HasPrefix(host, "/") {
		return fmt.Sprintf("%s/.s.PGSQL.%d", host, port)
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
