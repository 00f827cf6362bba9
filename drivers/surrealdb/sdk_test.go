package surrealdb_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"reflect"
	"sync"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/gofrs/uuid"
	sdk "github.com/surrealdb/surrealdb.go"
	"github.com/surrealdb/surrealdb.go/pkg/connection"
	"github.com/surrealdb/surrealdb.go/pkg/connection/gorillaws"
	sdklogger "github.com/surrealdb/surrealdb.go/pkg/logger"
	"github.com/surrealdb/surrealdb.go/pkg/models"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
	"github.com/durabench/durabench/infra/process"
)

// Queries as the driver sends them, written out once more: the SDK sends the same.
const (
	sdkCreate = "CREATE $id CONTENT $row RETURN NULL"
	sdkRead   = "SELECT * FROM $id"
	sdkUpdate = "UPDATE $id CONTENT $row RETURN NULL"
	sdkDelete = "DELETE $id RETURN NULL"
)

// TestTheSDKSaysTheSame sends every operation through surrealdb.go and through the driver, past something that listens, and compares what went
// over both connections: each request and each answer, down to the last value and its tag. Only the ID of a request, the order of the
// members of its maps and the time that a statement took may differ.
func TestTheSDKSaysTheSame(t *testing.T) {
	value := map[string]any{
		"active": "bool", "age": "int", "when": "datetime", "balance": "decimal", "ratio": "float", "name": "text:40", "token": "uuid", "blob": "bytes:300",
		"tags": []any{"string:4", "int:0..300"}, "deep": map[string]any{"more": map[string]any{"low": "int:-70000..-1", "huge": "int_enum:-9223372036854775808,9223372036854775807"}},
	}
	for _, kind := range []corpus.KeyKind{corpus.KeyInteger, corpus.KeyString26, corpus.KeyUUID} {
		t.Run(string(kind), func(t *testing.T) {
			o := load(t, value, kind, 0, 1)
			ear := listen(t)
			other := open(t, ear.endpoint(), o.data.Corpus, 1)
			reference := dialSDK(t, ear.endpoint())
			for i := range uint64(3) {
				keys, rows := o.some(i, 1, 0)
				_, next := o.some(i, 1, 1)
				id := &models.RecordID{Table: drivers.Table, ID: sdkKey(keys[0])}
				ours := func() {
					var record drivers.Record
					var row corpus.Row
					ctx := t.Context()
					drivertest.Must(t, other.Create(ctx, keys[0], rows[0]))
					if err := other.Create(ctx, keys[0], rows[0]); err == nil {
						t.Error("a key is created twice")
					}
					drivertest.Must(t, other.Read(ctx, keys[0], &record))
					drivertest.Must(t, other.Decode(&record, &row))
					drivertest.Must(t, other.Update(ctx, keys[0], next[0]))
					drivertest.Must(t, other.Delete(ctx, keys[0]))
					if err := other.Delete(ctx, keys[0]); err == nil {
						t.Error("a key is deleted twice")
					}
				}
				theirs := func() {
					with := map[string]any{"id": id, "row": sdkRow(o.data.Corpus, rows[0])}
					reference.run(t, sdkCreate, with)
					if _, err := sdk.Query[any](t.Context(), reference.db, sdkCreate, with); err == nil {
						t.Error("the SDK creates a key twice")
					}
					got := reference.run(t, sdkRead, map[string]any{"id": id})
					want := sdkRow(o.data.Corpus, rows[0])
					want["id"] = *id
					want["balance"] = want["balance"].(cbor.Tag).Content // the SDK makes a text of a decimal
					if have, want := fmt.Sprint(normal(t, got)), fmt.Sprint(normal(t, []any{want})); have != want {
						t.Errorf("the SDK reads %s\nwhere row %d is %s", have, i, want)
					}
					reference.run(t, sdkUpdate, map[string]any{"id": id, "row": sdkRow(o.data.Corpus, next[0])})
					reference.run(t, sdkDelete, map[string]any{"id": id})
					reference.run(t, sdkDelete, map[string]any{"id": id})
				}
				ear.reset()
				ours()
				requests, answers := ear.heard(t)
				ear.reset()
				theirs()
				sdkRequests, sdkAnswers := ear.heard(t)
				if len(requests) != 6 || len(answers) != 6 {
					t.Fatalf("%d requests and %d answers were heard of 6", len(requests), len(answers))
				}
				compare(t, "request", requests, sdkRequests)
				compare(t, "answer", answers, sdkAnswers)
			}
		})
	}
}

func compare(t *testing.T, what string, ours, theirs []any) {
	t.Helper()
	if len(ours) != len(theirs) {
		t.Fatalf("%d %ss, and %d of the SDK's", len(ours), what, len(theirs))
	}
	for i := range ours {
		if !reflect.DeepEqual(ours[i], theirs[i]) {
			t.Errorf("%s %d is\n%v\nand the SDK's\n%v", what, i, ours[i], theirs[i])
		}
	}
}

// open opens a client of the database that load has prepared.
func open(t testing.TB, endpoint string, c *corpus.Corpus, threads int) drivers.Client {
	t.Helper()
	running := serverOf(t)
	ctx := context.Background()
	database, err := engine(t).Open(ctx, drivers.Config{
		Endpoint: endpoint, Credentials: running.Credentials, Clients: 1, Threads: threads, Corpus: c, Logger: slog.New(slog.DiscardHandler),
	})
	drivertest.Must(t, err)
	client, err := database.Client(ctx, 0)
	drivertest.Must(t, err)
	t.Cleanup(func() {
		drivertest.Must(t, client.Close())
		drivertest.Must(t, database.Close())
	})
	return client
}

// reference is surrealdb.go, connected.
type reference struct{ db *sdk.DB }

func dialSDK(t testing.TB, endpoint string) reference {
	t.Helper()
	address, err := url.Parse(endpoint)
	drivertest.Must(t, err)
	config := connection.NewConfig(address)
	config.Logger = sdklogger.New(slog.DiscardHandler)
	db, err := sdk.FromConnection(context.Background(), gorillaws.New(config))
	drivertest.Must(t, err)
	t.Cleanup(func() { _ = db.Close(context.Background()) }) // it ends with an error when the server ends first
	running := serverOf(t)
	ctx := context.Background()
	_, err = db.SignIn(ctx, sdk.Auth{Username: running.Credentials.User, Password: running.Credentials.Password})
	drivertest.Must(t, err)
	drivertest.Must(t, db.Use(ctx, "durabench", "durabench"))
	return reference{db}
}

// serverOf is the server in memory.
func serverOf(t testing.TB) *process.Running {
	return server(t, drivers.TierNone, drivers.Profile{})
}

// run runs a query of one statement and returns its result.
func (r reference) run(t testing.TB, query string, with map[string]any) any {
	t.Helper()
	results, err := sdk.Query[any](context.Background(), r.db, query, with)
	drivertest.Must(t, err)
	return (*results)[0].Result
}

// sdkKey is a key as the SDK takes it.
func sdkKey(key corpus.Key) any {
	switch key.Kind() {
	case corpus.KeyInteger:
		return key.Int()
	case corpus.KeyUUID:
		return models.UUID{UUID: uuid.UUID(key.UUID())}
	}
	return string(key.Bytes())
}

// sdkRow is a row as the SDK takes it.
func sdkRow(c *corpus.Corpus, row *corpus.Row) map[string]any {
	members := map[string]any{}
	for i, field := range c.Template().Columns() {
		members[field.Name] = sdkValue(&field, &row.Columns[i])
	}
	return members
}

func sdkValue(f *corpus.Field, v *corpus.Value) any {
	switch f.Kind {
	case corpus.Bool:
		return v.Bool()
	case corpus.Int:
		return v.Int()
	case corpus.Float:
		return v.Float()
	case corpus.Decimal:
		return cbor.Tag{Number: models.TagStringDecimal, Content: string(corpus.AppendDecimal(nil, v.Decimal()))}
	case corpus.String:
		return v.Text()
	case corpus.UUID:
		return models.UUID{UUID: uuid.UUID(v.UUID())}
	case corpus.DateTime:
		return &models.CustomDateTime{Time: v.Time()}
	case corpus.Bytes:
		return v.Bytes()
	case corpus.Array:
		var list []any
		for i := range v.Elems() {
			list = append(list, sdkValue(&f.Elems[i], &v.Elems()[i]))
		}
		return list
	case corpus.Object:
		members := map[string]any{}
		for i := range v.Elems() {
			members[f.Elems[i].Name] = sdkValue(&f.Elems[i], &v.Elems()[i])
		}
		return members
	}
	panic("a kind of value that this test does not have")
}

// normal is what a value is on the wire, read by a decoder that knows none of SurrealDB's types.
func normal(t *testing.T, value any) any {
	t.Helper()
	data, err := cbor.Marshal(value)
	drivertest.Must(t, err)
	return bare(t, data)
}

func bare(t *testing.T, data []byte) (value any) {
	t.Helper()
	drivertest.Must(t, cbor.Unmarshal(data, &value))
	return value
}

// ear is between a client and the server and keeps all that goes by.
type ear struct {
	listener net.Listener
	mu       sync.Mutex
	said     [][2]*bytes.Buffer // by each connection: by the client, by the server
}

// listen puts an ear before the shared server.
func listen(t *testing.T) *ear {
	t.Helper()
	to, err := url.Parse(serverOf(t).Endpoint)
	drivertest.Must(t, err)
	e := &ear{}
	e.listener, err = net.Listen("tcp", "127.0.0.1:0")
	drivertest.Must(t, err)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := e.listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to.Host)
			if err != nil {
				_ = client.Close()
				return
			}
			said := [2]*bytes.Buffer{{}, {}}
			e.mu.Lock()
			e.said = append(e.said, said)
			e.mu.Unlock()
			all.Go(func() { e.carry(server, client, said[0]) })
			all.Go(func() { e.carry(client, server, said[1]) })
		}
	})
	t.Cleanup(func() {
		_ = e.listener.Close()
		all.Wait()
	})
	return e
}

// carry carries from one to the other until one of them is closed, and then closes both. What goes by is noted before it is passed on.
func (e *ear) carry(to, from net.Conn, said *bytes.Buffer) {
	block := make([]byte, 64<<10)
	for {
		n, err := from.Read(block)
		e.mu.Lock()
		said.Write(block[:n])
		e.mu.Unlock()
		if err == nil {
			_, err = to.Write(block[:n])
		}
		if err != nil {
			_ = to.Close()
			_ = from.Close()
			return
		}
	}
}

func (e *ear) endpoint() string { return "ws://" + e.listener.Addr().String() }

// reset forgets what was said, but for the greetings, which heard passes over.
func (e *ear) reset() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, said := range e.said {
		for _, buffer := range said {
			buffer.Reset()
		}
	}
}

// heard returns the requests and the answers since reset, decoded, without what may differ.
func (e *ear) heard(t *testing.T) (requests, answers []any) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, said := range e.said {
		for _, message := range messages(t, said[0].Bytes()) {
			request := bare(t, message).(map[any]any)
			delete(request, "id")
			requests = append(requests, request)
		}
		for _, message := range messages(t, said[1].Bytes()) {
			answer := bare(t, message).(map[any]any)
			delete(answer, "id")
			if statements, is := answer["result"].([]any); is {
				for _, statement := range statements {
					delete(statement.(map[any]any), "time")
				}
			}
			answers = append(answers, answer)
		}
	}
	return requests, answers
}

// messages takes frames apart: what is in those that carry data.
func messages(t *testing.T, stream []byte) (found [][]byte) {
	t.Helper()
	for from := bytes.NewReader(stream); from.Len() > 0; {
		var head [2]byte
		_, err := io.ReadFull(from, head[:])
		drivertest.Must(t, err)
		length := uint64(head[1] & 0x7f)
		switch length {
		case 126:
			var wide uint16
			drivertest.Must(t, binary.Read(from, binary.BigEndian, &wide))
			length = uint64(wide)
		case 127:
			drivertest.Must(t, binary.Read(from, binary.BigEndian, &length))
		}
		var mask [4]byte
		if head[1]&0x80 != 0 {
			_, err := io.ReadFull(from, mask[:])
			drivertest.Must(t, err)
		}
		content := make([]byte, length)
		_, err = io.ReadFull(from, content)
		drivertest.Must(t, err)
		for i := range content {
			content[i] ^= mask[i%4]
		}
		if kind := head[0] & 0x0f; kind == 2 {
			found = append(found, content)
		}
	}
	return found
}
