package surrealdb

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/durabench/durabench/drivers"
)

const (
	// connectTimeout bounds each attempt to connect and sign in.
	connectTimeout = 10 * time.Second
	// space is the name of the namespace and of the database, unless the endpoint names others.
	space = "durabench"
	// defaultPort is the server's own.
	defaultPort = "8000"
)

// past is a deadline that is over.
var past = time.Unix(1, 0)

var plainForm = regexp.MustCompile(`^[^/\s?#@]+$`)

// endpoint is a server's address, what opens it, and where in it the table is.
type endpoint struct {
	url                 *url.URL // of the WebSocket: ws or wss
	address             string   // host:port
	namespace, database string
	level               string // that the user is defined at: root, namespace or database
	credentials         drivers.Credentials
}

// parseEndpoint reads an address: ws://host:port, wss:// for TLS, http:// and https:// for the same, or host:port.
func parseEndpoint(text string, credentials drivers.Credentials) (e endpoint, err error) {
	const forms = "write it like ws://host:8000, wss://host for TLS, or host:8000, with ?ns=name&db=name for another namespace and database than " + space +
		", and &level=namespace or &level=database for a user who is not one of the root"
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return e, fmt.Errorf("surrealdb needs an endpoint: %s", forms)
	case plainForm.MatchString(text):
		text = "ws://" + text
	}
	e.url, err = url.Parse(text)
	if err != nil || e.url.Hostname() == "" {
		// The error may repeat the address, with a password in it.
		return e, fmt.Errorf("endpoint cannot be read: %s", forms)
	}
	schemes := map[string]string{"ws": "ws", "http": "ws", "wss": "wss", "https": "wss"}
	query := e.url.Query()
	e.namespace, e.database, e.level = space, space, "root"
	for name, to := range map[string]*string{"ns": &e.namespace, "db": &e.database, "level": &e.level} {
		if value := query.Get(name); value != "" {
			*to = value
		}
		query.Del(name)
	}
	path := strings.TrimSuffix(e.url.Path, "/")
	switch {
	case schemes[e.url.Scheme] == "":
		return e, fmt.Errorf("endpoint begins with %q: %s", e.url.Scheme, forms)
	case len(query) > 0 || e.url.Fragment != "" || path != "" && path != "/rpc":
		return e, fmt.Errorf("endpoint has more than surrealdb knows: %s", forms)
	case e.level != "root" && e.level != "namespace" && e.level != "database":
		return e, fmt.Errorf("endpoint has level=%s: it is root, namespace or database", e.level)
	}
	e.credentials = credentials
	if user := e.url.User; user != nil && credentials == (drivers.Credentials{}) {
		password, _ := user.Password()
		e.credentials = drivers.Credentials{User: user.Username(), Password: password}
	}
	port := e.url.Port()
	if port == "" {
		port = defaultPort
		if schemes[e.url.Scheme] == "wss" {
			port = "443"
		}
	}
	e.address = net.JoinHostPort(e.url.Hostname(), port)
	e.url = &url.URL{Scheme: schemes[e.url.Scheme], Host: e.address, Path: "/rpc"}
	return e, nil
}

// dial connects and makes the connection a WebSocket, without signing in.
func (e endpoint) dial(ctx context.Context) (net.Conn, error) {
	dialer := net.Dialer{KeepAlive: time.Minute}
	var conn net.Conn
	var err error
	if e.url.Scheme == "wss" {
		// No other protocol than HTTP/1.1: the handshake is one of that.
		conn, err = (&tls.Dialer{NetDialer: &dialer, Config: &tls.Config{NextProtos: []string{"http/1.1"}}}).DialContext(ctx, "tcp", e.address)
	} else {
		conn, err = dialer.DialContext(ctx, "tcp", e.address)
	}
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(past) })
	err = handshake(conn, e.url)
	if !stop() {
		err = errors.Join(ctx.Err(), err)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// explain says where a connection was tried, what came back and what to do. No credentials are in it.
func (e endpoint) explain(err error) error {
	advice := ""
	var refused *serverError
	switch {
	case errors.As(err, &refused) && (refused.kind == "NotAllowed" || strings.Contains(refused.message, "authentication") || strings.Contains(refused.message, "IAM")):
		advice = "; check the user and the password, and the level at which the user is defined"
	case errors.Is(err, context.Canceled):
	case drivers.ErrorClassOf(err) == drivers.ClassConnection:
		advice = "; check that the server runs and listens there, and whether it wants TLS (wss://)"
	case drivers.ErrorClassOf(err) == drivers.ClassTimeout:
		advice = "; check the address, and that no firewall drops the packets"
	}
	return fmt.Errorf("connect to SurrealDB at %s (namespace %q, database %q): %w%s", e.address, e.namespace, e.database, err, advice)
}
