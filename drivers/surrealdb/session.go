package surrealdb

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/wire"
)

// dial opens a measured connection.
func (d *database) dial(ctx context.Context) (net.Conn, error) {
	conn, err := d.signIn(ctx)
	if err != nil {
		return nil, err
	}
	return wire.Count(conn, &d.sockets), nil
}

// signIn connects, authenticates, and chooses namespace and database. Only the first connection shows the password, which the server takes
// long to check on purpose; it gets a token for it, which the others show.
func (d *database) signIn(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := d.server.dial(ctx)
	if err == nil {
		err = d.authenticate(ctx, conn)
		if err == nil {
			_, err = d.call(ctx, conn, "use", d.server.namespace, d.server.database)
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			_ = conn.Close()
		}
	}
	if err != nil {
		return nil, d.server.explain(err)
	}
	return conn, nil
}

// authenticate shows the token of an earlier connection or, when there is none or it is not taken any more, the password.
func (d *database) authenticate(ctx context.Context, conn net.Conn) error {
	user := d.server.credentials
	if token := d.token.Load(); token != nil {
		_, err := d.call(ctx, conn, "authenticate", *token)
		var refused *serverError
		if err == nil || !errors.As(err, &refused) || user.User == "" {
			return err
		}
	}
	if user.User == "" {
		return nil // the server may let anybody in
	}
	sign := map[string]string{"user": user.User, "pass": user.Password}
	if d.server.level != "root" {
		sign["NS"] = d.server.namespace
	}
	if d.server.level == "database" {
		sign["DB"] = d.server.database
	}
	answer, err := d.call(ctx, conn, "signin", sign)
	if err != nil {
		return err
	}
	result := scanner{data: answer}
	value, err := result.value()
	if err != nil {
		return err
	}
	// A token alone, or one among what else there is to refresh it.
	if tokens, is := value.(map[string]any); is {
		for _, name := range []string{"access", "token"} {
			if tokens[name] != nil {
				value = tokens[name]
			}
		}
	}
	if token, is := value.(string); is {
		d.token.Store(&token)
	}
	return nil
}

// call makes a request on a connection that nobody else uses yet and returns its result.
func (d *database) call(ctx context.Context, conn net.Conn, method string, parameters ...any) (result []byte, err error) {
	const id = 1
	message := appendRequest(nil, id, method, len(parameters))
	for _, p := range parameters {
		switch p := p.(type) {
		case string:
			message = appendText(message, p)
		case map[string]string:
			message = appendHead(message, majorMap, uint64(len(p)))
			for name, value := range p {
				message = appendText(appendText(message, name), value)
			}
		}
	}
	answer, err := exchange(ctx, conn, message)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	found, err := resultOf(answer, id)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return found.in(answer), nil
}

// control runs f with a connection beside the measured ones, which is closed after, so that none is open while a leg runs.
func (d *database) control(ctx context.Context, what string, f func(*control) error) error {
	if d.closed.Load() {
		return fmt.Errorf("%s: %w", what, drivers.ErrClosed)
	}
	link, err := wire.NewDirect(ctx, wire.Protocol{Dial: d.signIn, Parse: receive, Owner: owner, Unasked: unasked}, 1)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	err = f(&control{link})
	if err = errors.Join(err, link.Close()); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// control is a connection that is not measured.
type control struct{ link wire.Link }

// query runs statements and returns the result of each, as any.
func (c *control) query(ctx context.Context, text string) ([]any, error) {
	seat, err := c.link.Take(ctx)
	if err != nil {
		return nil, err
	}
	defer c.link.Give(seat)
	seat.Request = appendFrame(seat.Request, frameBinary, appendQuery(nil, seat.ID, text, 0))
	if err := c.link.Do(ctx, seat); err != nil {
		return nil, err
	}
	var results []any
	err = statements(seat.Record.Bytes, seat.ID, func(_ int, result span) error {
		s := scanner{data: result.in(seat.Record.Bytes)}
		value, err := s.value()
		results = append(results, value)
		return err
	})
	return results, err
}
