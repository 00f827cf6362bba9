package respbase

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/durabench/durabench/drivers"
)

const (
	// connectTimeout bounds each attempt to connect and sign in.
	connectTimeout = 5 * time.Second
	// clientName is how our connections show in CLIENT LIST.
	clientName = "durabench"
)

var (
	urlForm   = regexp.MustCompile(`^[a-z]+://`)
	plainForm = regexp.MustCompile(`^[^/\s]+(/[0-9]+)?$`)
)

// endpoint is a server's address and what opens it.
type endpoint struct {
	network, address string
	tls              *tls.Config
	user, password   string
	db               int
}

// parseEndpoint reads an address: redis://host:port/db, rediss:// for TLS, unix:///path?db=n, or host:port.
func parseEndpoint(product Product, text string, credentials drivers.Credentials) (endpoint, error) {
	const forms = "write it like redis://host:6379/0, rediss://host:6379 for TLS, unix:///path/to/socket?db=0 or host:6379"
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return endpoint{}, fmt.Errorf("%s needs an endpoint: %s", product.Name, forms)
	case urlForm.MatchString(text):
	case plainForm.MatchString(text):
		text = "redis://" + text
	default:
		return endpoint{}, fmt.Errorf("endpoint is in no form that %s knows: %s", product.Name, forms)
	}
	option, err := rueidis.ParseURL(text)
	if err != nil {
		// Its text may repeat the address, with a password in it.
		return endpoint{}, fmt.Errorf("endpoint cannot be read: %s", forms)
	}
	if len(option.InitAddress) != 1 {
		return endpoint{}, fmt.Errorf("endpoint names %d servers: %s", len(option.InitAddress), forms)
	}
	e := endpoint{network: "tcp", address: option.InitAddress[0], tls: option.TLSConfig, user: option.Username, password: option.Password, db: option.SelectDB}
	if strings.HasPrefix(text, "unix:") {
		e.network = "unix"
	}
	if credentials.User != "" {
		e.user = credentials.User
	}
	if credentials.Password != "" {
		e.password = credentials.Password
	}
	return e, nil
}

// dial connects, without signing in.
func (e endpoint) dial(ctx context.Context) (net.Conn, error) {
	dialer := net.Dialer{Timeout: connectTimeout, KeepAlive: time.Minute}
	if e.tls == nil {
		return dialer.DialContext(ctx, e.network, e.address)
	}
	return (&tls.Dialer{NetDialer: &dialer, Config: e.tls}).DialContext(ctx, e.network, e.address)
}

// control runs f with a rueidis client on a connection of its own, which is closed after, so that no socket beside the measured ones is open
// while a leg runs.
func (d *database) control(ctx context.Context, what string, f func(rueidis.Client) error) error {
	if d.closed.Load() {
		return fmt.Errorf("%s: %w", what, drivers.ErrClosed)
	}
	limited, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	// Signing in by ourselves first: its errors are plainer, and a server that is gone is told from one that refuses.
	conn, err := d.signIn(limited)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := conn.Close(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{d.server.address}, Username: d.server.user, Password: d.server.password, SelectDB: d.server.db, ClientName: clientName + "-control",
		DialCtxFn: func(ctx context.Context, _ string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return d.server.dial(ctx)
		},
		AlwaysRESP2: true, DisableCache: true, DisableRetry: true, ForceSingleClient: true, PipelineMultiplex: -1, ClientSetInfo: rueidis.DisableClientSetInfo,
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, d.explain(err))
	}
	defer c.Close()
	if err := f(c); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// explain says where a connection was tried, what came back and what to do. No credentials are in it.
func (d *database) explain(err error) error {
	advice := ""
	switch text := err.Error(); {
	case strings.Contains(text, "WRONGPASS"), strings.Contains(text, "NOAUTH"), strings.Contains(text, "invalid password"), strings.Contains(text, "without any password"):
		advice = "; check the user and the password"
	case strings.Contains(text, "max number of clients"):
		advice = "; raise maxclients, or use fewer clients"
	case strings.Contains(text, "DB index"):
		advice = "; name a database that the server has"
	case errors.Is(err, context.Canceled):
	case drivers.ErrorClassOf(err) == drivers.ClassConnection:
		advice = "; check that the server runs and listens there, and whether it wants TLS (rediss://)"
	case drivers.ErrorClassOf(err) == drivers.ClassTimeout:
		advice = "; check the address, and that no firewall drops the packets"
	}
	return fmt.Errorf("connect to %s at %s (database %d): %w%s", d.product.Title, d.server.address, d.server.db, err, advice)
}
