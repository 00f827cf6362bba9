package postgres

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/durabench/durabench/drivers"
)

// uniqueViolation is the code of an insert whose key is there already.
const uniqueViolation = "23505"

// undefinedObject is the code of a statement that names something, other than a table or a column, that the server does not have.
const undefinedObject = "42704"

// classify gives the server's refusal its class.
func classify(refusal *pgconn.PgError) error {
	switch code := refusal.Code; {
	case code == "40001", code == "40P01", code == "55P03": // serialization failure, deadlock, lock not available
		return drivers.Classify(drivers.ClassConflict, refusal)
	case code == "57014", code == "25P03", code == "57P05": // cancelled by a statement timeout, idle timeouts
		return drivers.Classify(drivers.ClassTimeout, refusal)
	case strings.HasPrefix(code, "08"), strings.HasPrefix(code, "57P"), code == "53300": // connection, shutdown and crash, too many connections
		return drivers.Classify(drivers.ClassConnection, refusal)
	}
	return refusal
}

// codeOf returns the SQLSTATE of an error from the server; "" for others.
func codeOf(err error) string {
	var refusal *pgconn.PgError
	if errors.As(err, &refusal) {
		return refusal.Code
	}
	return ""
}

// constraintOf returns the name of the constraint that the server says was violated, or nothing.
func constraintOf(err error) string {
	var refusal *pgconn.PgError
	if errors.As(err, &refusal) {
		return refusal.ConstraintName
	}
	return ""
}

// explain says where a connection was tried, what came back and what to do. No credentials are in it.
func explain(config *pgconn.Config, err error) error {
	what := fmt.Sprintf("connect to PostgreSQL at %s (user %q, database %q)", addresses(config), config.User, config.Database)
	advice := ""
	switch code := codeOf(err); {
	case code == "28P01", code == "28000":
		advice = "check the user and the password, and the server's pg_hba.conf"
	case code == "3D000":
		advice = "name a database that is there in the endpoint, e.g. /postgres"
	case code == "53300":
		advice = "raise max_connections, or use fewer clients or threads"
	case code == "57P03":
		advice = "the server is still starting or stopping: try again"
	case drivers.ErrorClassOf(err) == drivers.ClassConnection:
		advice = "check that the server runs and listens there"
	case drivers.ErrorClassOf(err) == drivers.ClassTimeout:
		advice = "check the address, and that no firewall drops the packets"
	}
	return &connectError{what: what, advice: advice, err: err}
}

// connectError is the error of a connection that could not be had.
type connectError struct {
	what, advice string
	err          error
}

// Error is in one line: pgconn lists every address and TLS mode it tried in a line of its own.
func (e *connectError) Error() string {
	text := e.err.Error()
	var connect *pgconn.ConnectError
	if errors.As(e.err, &connect) {
		text = connect.Unwrap().Error()
	}
	var tried []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && (len(tried) == 0 || tried[len(tried)-1] != line) {
			tried = append(tried, line)
		}
	}
	text = e.what + ": " + strings.Join(tried, "; ")
	if e.advice != "" {
		text += "; " + e.advice
	}
	return text
}

// Unwrap returns what came back.
func (e *connectError) Unwrap() error { return e.err }
