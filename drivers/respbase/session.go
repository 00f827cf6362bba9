package respbase

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

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

// signIn connects, authenticates and selects the database.
func (d *database) signIn(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := d.server.dial(ctx)
	if err == nil {
		if err = d.greet(ctx, conn); err != nil {
			_ = conn.Close()
		}
	}
	if err != nil {
		return nil, d.explain(err)
	}
	return conn, nil
}

// greet says who we are, in one round trip.
func (d *database) greet(ctx context.Context, conn net.Conn) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	var request []byte
	commands := [][]string{{"CLIENT", "SETNAME", clientName}, {"SELECT", strconv.Itoa(d.server.db)}, {"PING"}}
	switch e := d.server; {
	case e.user != "":
		commands = append([][]string{{"AUTH", e.user, e.password}}, commands...)
	case e.password != "":
		commands = append([][]string{{"AUTH", e.password}}, commands...)
	}
	for _, command := range commands {
		request = fmt.Appendf(request, "*%d\r\n", len(command))
		for _, word := range command {
			request = fmt.Appendf(request, "$%d\r\n%s\r\n", len(word), word)
		}
	}
	_, err := conn.Write(request)
	answers := bufio.NewReader(conn)
	for _, command := range commands {
		var line string
		if err == nil {
			line, err = answers.ReadString('\n')
		}
		// Some of the family do not know CLIENT; that is no reason not to go on.
		if err == nil && strings.HasPrefix(line, "-") && command[0] != "CLIENT" {
			err = fmt.Errorf("%s: %s", command[0], strings.TrimSpace(line[1:]))
		}
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}
