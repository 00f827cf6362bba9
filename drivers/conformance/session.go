package conformance

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// patience is how long the suite waits for what should come at once, before it calls it hanging.
const patience = 10 * time.Second

// session is an open database with all of its clients.
type session struct {
	t        *testing.T
	config   drivers.Config
	database drivers.Database
	clients  []drivers.Client
	closed   bool
}

// open opens the database, prepares an empty table and opens the clients. All is closed at the end of the test.
func (h Harness) open(t *testing.T, c *corpus.Corpus, tweaks ...tweak) *session {
	t.Helper()
	s := h.attach(t, h.config(t, c, tweaks...))
	if err := s.database.Prepare(t.Context()); err != nil {
		t.Fatalf("prepare: %v", err)
	}
	s.connect()
	return s
}

// attach opens the database as it is, without clients.
func (h Harness) attach(t *testing.T, config drivers.Config) *session {
	t.Helper()
	database, err := h.Engine.Open(t.Context(), config)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	s := &session{t: t, config: config, database: database}
	t.Cleanup(s.close)
	return s
}

// connect opens the clients.
func (s *session) connect() {
	s.t.Helper()
	for i := range s.config.Clients {
		client, err := s.database.Client(s.t.Context(), i)
		if err != nil {
			s.t.Fatalf("open client %d: %v", i, err)
		}
		s.clients = append(s.clients, client)
	}
}

// close closes the clients and the database, once.
func (s *session) close() {
	s.t.Helper()
	if s.closed {
		return
	}
	s.closed = true
	for i, client := range s.clients {
		if err := client.Close(); err != nil {
			s.t.Errorf("close client %d: %v", i, err)
		}
	}
	if err := s.database.Close(); err != nil {
		s.t.Errorf("close database: %v", err)
	}
}

// caller is one goroutine's use of a client, with memory of its own that it uses again and again, as a worker does.
type caller struct {
	client    drivers.Client
	corpus    *corpus.Corpus
	key       corpus.KeyBuffer
	row       corpus.Row
	want, got corpus.Row
	record    drivers.Record
}

// caller returns a caller on client i.
func (s *session) caller(i int) *caller {
	return &caller{client: s.clients[i], corpus: s.config.Corpus}
}

func (c *caller) create(ctx context.Context, index uint64, version uint32) error {
	c.corpus.Row(&c.row, index, version)
	return c.client.Create(ctx, c.corpus.Key(&c.key, index), &c.row)
}

func (c *caller) update(ctx context.Context, index uint64, version uint32) error {
	c.corpus.Row(&c.row, index, version)
	return c.client.Update(ctx, c.corpus.Key(&c.key, index), &c.row)
}

func (c *caller) delete(ctx context.Context, index uint64) error {
	return c.client.Delete(ctx, c.corpus.Key(&c.key, index))
}

func (c *caller) read(ctx context.Context, index uint64) error {
	return c.client.Read(ctx, c.corpus.Key(&c.key, index), &c.record)
}

// check reads the row and compares it with the corpus's row of the version.
func (c *caller) check(ctx context.Context, index uint64, version uint32) error {
	if err := c.read(ctx, index); err != nil {
		return fmt.Errorf("read row %d: %w", index, err)
	}
	if err := c.verify(&c.record, index, version); err != nil {
		return fmt.Errorf("row %d: %w", index, err)
	}
	return nil
}

// verify compares a record with the corpus's row.
func (c *caller) verify(record *drivers.Record, index uint64, version uint32) error {
	c.corpus.Row(&c.want, index, version)
	return c.same(record, &c.want)
}

// same compares a record with the row it should hold.
func (c *caller) same(record *drivers.Record, want *corpus.Row) error {
	if err := c.client.Decode(record, &c.got); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	column, wantText, gotText, same := corpus.Diff(c.corpus.Template(), want, &c.got)
	if !same {
		return fmt.Errorf("column %q: got %s, want %s", column, gotText, wantText)
	}
	if got := c.got.Checksum(); got != want.Checksum() {
		return fmt.Errorf("checksum %x, want %x, of rows that Diff calls the same", got, want.Checksum())
	}
	return nil
}

// roundTrip creates the row under the key and reads it back.
func (c *caller) roundTrip(ctx context.Context, key corpus.Key, row *corpus.Row) error {
	if err := c.client.Create(ctx, key, row); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if err := c.client.Read(ctx, key, &c.record); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	return c.same(&c.record, row)
}

// must fails the test at once on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantIs fails the test unless err is, or wraps, want.
func wantIs(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

// makeCorpus returns a corpus of a fixed seed, so that a failure repeats.
func makeCorpus(t *testing.T, value map[string]any, kind corpus.KeyKind, random bool) *corpus.Corpus {
	t.Helper()
	template, err := corpus.ParseTemplate(value)
	must(t, err)
	c, err := corpus.New(20260908, template, kind, random)
	must(t, err)
	return c
}

// plain is a row of every scalar kind with ordinary content, for tests that are not about values.
func plain(t *testing.T) *corpus.Corpus {
	t.Helper()
	return makeCorpus(t, plainTemplate, corpus.KeyInteger, false)
}

var plainTemplate = map[string]any{
	"active":  "bool",
	"age":     "int:0..120",
	"balance": "decimal",
	"blob":    "bytes:10..40",
	"created": "datetime",
	"name":    "string:5..20",
	"ratio":   "float:0..1",
	"tags":    []any{"string:4", "string:4"},
	"text":    "text:100..200",
	"token":   "uuid",
}

// within runs f and fails the test when it has not returned after the suite's patience: a driver that hangs must not hang the suite.
func within(t *testing.T, what string, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		t.Fatalf("%s: still not back after %s", what, patience)
		return nil
	}
}
