package measure

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	_ "github.com/durabench/durabench/drivers/dry"
	_ "github.com/durabench/durabench/drivers/map"
)

// The faulty engine is a map that goes wrong in the way its option "fault" names.
const faultyEngine = "faulty"

func init() {
	base, ok := drivers.Lookup("map")
	if !ok {
		panic("the map engine is not registered")
	}
	base.Name, base.Title = faultyEngine, "Faulty"
	base.Options = []drivers.Option{{Name: "fault", Values: []string{"none"}, Help: "what goes wrong", Check: func(string) error { return nil }}}
	open := base.Open
	base.Open = func(ctx context.Context, config drivers.Config) (drivers.Database, error) {
		fault := config.Options["fault"]
		if fault == "open" {
			return nil, errors.New("connection refused")
		}
		config.Options = nil
		database, err := open(ctx, config)
		if err != nil {
			return nil, err
		}
		return &faultyDatabase{Database: database, fault: fault, corpus: config.Corpus}, nil
	}
	drivers.Register(base)
}

type faultyDatabase struct {
	drivers.Database
	fault  string
	corpus *corpus.Corpus
}

func (d *faultyDatabase) Settings(ctx context.Context) (drivers.Settings, error) {
	settings, err := d.Database.Settings(ctx)
	if d.fault == "tier" {
		settings.Tier = drivers.TierProcess
	}
	return settings, err
}

func (d *faultyDatabase) Preflight(context.Context) error {
	if d.fault == "preflight" {
		return errors.New("the run opens 128 connections and the server allows 20")
	}
	return nil
}

func (d *faultyDatabase) Count(ctx context.Context) (int64, error) {
	rows, err := d.Database.(drivers.Counter).Count(ctx)
	if d.fault == "count" && rows > 0 {
		rows--
	}
	return rows, err
}

func (d *faultyDatabase) Client(ctx context.Context, i int) (drivers.Client, error) {
	if d.fault == "client" && i == 1 {
		return nil, errors.New("too many connections")
	}
	client, err := d.Database.Client(ctx, i)
	return &faultyClient{Client: client, fault: d.fault, corpus: d.corpus}, err
}

type faultyClient struct {
	drivers.Client
	fault  string
	corpus *corpus.Corpus
	calls  atomic.Int64
}

// hides does a write, and says so or not: one in twenty it does and calls failed, and the next one it calls done and does not.
func (c *faultyClient) hides(write func() error) error {
	switch c.calls.Add(1) % 20 {
	case 1:
		return errors.Join(write(), errors.New("connection reset"))
	case 2:
		return nil
	}
	return write()
}

func (c *faultyClient) Create(ctx context.Context, key corpus.Key, row *corpus.Row) error {
	switch {
	case c.fault == "lost create" && c.calls.Add(1)%10 == 0:
		return nil // acknowledged, and not there
	case c.fault == "some creates fail" && c.calls.Add(1)%100 == 0:
		return errors.New("server is busy")
	case c.fault == "failures hide losses":
		return c.hides(func() error { return c.Client.Create(ctx, key, row) })
	case c.fault == "create fails":
		return errors.New("disk is full")
	case c.fault == "slow":
		c.calls.Add(1)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	case c.fault == "panic":
		panic("driver is broken")
	}
	return c.Client.Create(ctx, key, row)
}

func (c *faultyClient) Read(ctx context.Context, key corpus.Key, rec *drivers.Record) error {
	switch {
	case c.fault == "wrong row":
		// Every answer is that of one row.
		var buffer corpus.KeyBuffer
		return c.Client.Read(ctx, c.corpus.Key(&buffer, 7), rec)
	case c.fault == "read fails" && c.calls.Add(1)%2 == 0:
		return errors.New("connection reset")
	case c.fault == "miss" && c.calls.Add(1) > 3:
		return drivers.ErrNotFound
	}
	return c.Client.Read(ctx, key, rec)
}

func (c *faultyClient) Update(ctx context.Context, key corpus.Key, row *corpus.Row) error {
	switch c.fault {
	case "stale update":
		return nil // acknowledged, and not done
	case "failures hide losses":
		return c.hides(func() error { return c.Client.Update(ctx, key, row) })
	}
	return c.Client.Update(ctx, key, row)
}

func (c *faultyClient) Delete(ctx context.Context, key corpus.Key) error {
	switch {
	case c.fault == "lost delete" && c.calls.Add(1)%10 == 0:
		return nil
	case c.fault == "failures hide losses":
		return c.hides(func() error { return c.Client.Delete(ctx, key) })
	}
	return c.Client.Delete(ctx, key)
}

func (c *faultyClient) Decode(rec *drivers.Record, row *corpus.Row) error {
	err := c.Client.Decode(rec, row)
	switch {
	case c.fault == "undecodable":
		return errors.New("not a row")
	case c.fault == "wrong column" && err == nil:
		row.SetInt(&row.Columns[0], row.Columns[0].Int()+1)
	}
	return err
}
