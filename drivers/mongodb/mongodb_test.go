package mongodb_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/conformance"
	"github.com/durabench/durabench/drivers/drivertest"
	_ "github.com/durabench/durabench/drivers/mongodb"
	_ "github.com/durabench/durabench/drivers/postgres"
	"github.com/durabench/durabench/infra/ci"
	"github.com/durabench/durabench/infra/process"
)

// No package registry has a MongoDB server. FerretDB 1.24, which serves MongoDB's protocol on PostgreSQL, stands in for it: it proves what is asked
// and answered, and no speed. It has no decimals, no text with NUL, and nothing to say of its durability.
var peer struct {
	sync.Mutex
	dir      string
	postgres *process.Running
	ferret   *exec.Cmd
	log      bytes.Buffer
	address  string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if peer.ferret != nil {
		_ = peer.ferret.Process.Signal(syscall.SIGTERM)
		_ = peer.ferret.Wait()
	}
	if peer.postgres != nil {
		if err := process.Stop(context.Background(), peer.postgres.Dir, false); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	if peer.dir != "" {
		_ = os.RemoveAll(peer.dir)
	}
	os.Exit(code)
}

// server returns the peer's endpoint and credentials; it is started when it is first asked for.
func server(tb testing.TB) (string, drivers.Credentials) {
	tb.Helper()
	peer.Lock()
	defer peer.Unlock()
	if peer.address == "" {
		startPeer(tb)
	}
	return "mongodb://" + peer.address + "/durabench?authMechanism=PLAIN", peer.postgres.Credentials
}

func startPeer(tb testing.TB) {
	tb.Helper()
	program := os.Getenv("DURABENCH_FERRETDB")
	if program == "" {
		program, _ = exec.LookPath("ferretdb")
	}
	if program == "" {
		const how = "ferretdb is neither at DURABENCH_FERRETDB nor on PATH: build it in drivers/mongodb/testdata/ferretdb with `go build -o DIR/ferretdb .`"
		ci.Need(tb, errors.New(how))
	}
	dir, err := os.MkdirTemp("", "durabench-mongodb-")
	if err == nil {
		err = os.Chmod(dir, 0o711) // for the account of the server
	}
	drivertest.Must(tb, err)
	peer.dir = dir
	postgres, _ := drivers.Lookup("postgres")
	peer.postgres = drivertest.Start(tb, process.Options{
		Engine: "PostgreSQL", Server: postgres.Server, RunID: "test", Dir: dir, Tier: drivers.TierProcess, Connections: 100,
		Resources: drivers.Resources{MemoryBytes: 1 << 30, CPUs: 2}, Ready: readyPostgres,
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	drivertest.Must(tb, err)
	address := listener.Addr().String()
	drivertest.Must(tb, listener.Close())
	command := exec.Command(program, "-listen", address, "-postgres", peer.postgres.Endpoint)
	command.Stdout, command.Stderr = &peer.log, &peer.log
	drivertest.Must(tb, command.Start())
	peer.ferret = command
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
			break
		}
		if time.Now().After(deadline) {
			tb.Fatalf("the peer does not listen: %v", err)
		}
	}
	peer.address = address
}

func readyPostgres(ctx context.Context, running *process.Running) error {
	config, err := pgconn.ParseConfig(running.Endpoint)
	if err != nil {
		return err
	}
	config.User, config.Password = running.Credentials.User, running.Credentials.Password
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

func engine(tb testing.TB) drivers.Engine {
	tb.Helper()
	return drivertest.Engine(tb, "mongodb")
}

func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Harness{
		Engine: engine(t),
		Configure: func(t *testing.T, config *drivers.Config) {
			config.Endpoint, config.Credentials = server(t)
			config.Options = map[string]string{"decimals": "units"}
		},
		NoNUL: "the peer's text cannot hold the character NUL",
		LacksOption: func(_, value string) string {
			if value == "decimal128" {
				return "the peer closes the connection when it sees a decimal"
			}
			return ""
		},
		Unconfirmed: "the peer does not say how durable it is",
		NoPlans:     func(query.Index) string { return "the peer explains with PostgreSQL's plans" },
		Trees:       100,
		NotAtomic:   "the peer lets another write come between the two halves of a modification",
		Slow:        "the peer finds some keys by looking at every document",

		NoArraysInArrays: "the peer does not have them",
		NoDots:           "to MongoDB a dot divides the parts of a path",
		Refuses:          refuses,
		Lacks:            lacks,
	})
}

// refuses tells which scans MongoDB's language cannot say.
func refuses(s *query.Scan) bool {
	for _, term := range s.Order {
		if len(term.Path) > 0 && slices.Contains([]string{"bytes", "raw"}, term.Path[len(term.Path)-1]) {
			return true
		}
	}
	return s.Where != nil && refusesPart(s.Where)
}

func refusesPart(p *query.Predicate) bool {
	switch p.Op {
	case query.MatchAll, query.MatchAny:
		return true
	case query.Lt, query.Lte, query.Gt, query.Gte, query.Between:
		return p.Column().Field.Kind == corpus.Bytes
	}
	return slices.ContainsFunc(p.Args, refusesPart)
}

// lacks says what the peer cannot do, and MongoDB can.
func lacks(s *query.Scan) string {
	for _, a := range s.Aggregates {
		if a.Func != query.Number && a.Func != query.Sum {
			return "the peer counts and adds, and has no other aggregates"
		}
	}
	return lacksPart(s.Where)
}

func lacksPart(p *query.Predicate) string {
	if p == nil {
		return ""
	}
	if p.Op == query.MatchAll || p.Op == query.MatchAny {
		return "the peer has no text indexes"
	}
	for _, value := range p.Values {
		if strings.Contains(value.Text, "\x00") {
			return "the peer's text cannot hold the character NUL"
		}
	}
	for _, arg := range p.Args {
		if why := lacksPart(arg); why != "" {
			return why
		}
	}
	return ""
}

// small is a configuration on the peer.
func small(tb testing.TB, clients, threads int, change func(*drivers.Config)) drivers.Config {
	tb.Helper()
	config := drivers.Config{Clients: clients, Threads: threads}
	config.Endpoint, config.Credentials = server(tb)
	return drivertest.Small(tb, config, change)
}

// beside is a client of the driver's own.
func beside(tb testing.TB) *mongo.Database {
	tb.Helper()
	endpoint, credentials := server(tb)
	config := options.Client().ApplyURI(strings.Replace(endpoint, "?authMechanism=PLAIN", "", 1)).SetAuth(options.Credential{
		AuthMechanism: "PLAIN", Username: credentials.User, Password: credentials.Password,
	})
	client, err := mongo.Connect(config)
	drivertest.Must(tb, err)
	tb.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client.Database("durabench")
}

func TestEndpointsThatCannotBeUsedSayWhy(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	drivertest.Must(t, err)
	closed := listener.Addr().String()
	drivertest.Must(t, listener.Close())
	base := small(t, 1, 1, nil)
	for _, test := range []struct {
		name   string
		change func(*drivers.Config)
		want   []string
	}{
		{"wrong password", func(c *drivers.Config) { c.Credentials.Password = "not-the-password" }, []string{"connect to MongoDB", "password authentication failed"}},
		{"nobody listens", func(c *drivers.Config) { c.Endpoint = "mongodb://" + closed }, []string{closed, "connection refused", "check that the server runs"}},
		{"no endpoint", func(c *drivers.Config) { c.Endpoint = "" }, []string{"needs an endpoint", "mongodb://host"}},
		{"another scheme", func(c *drivers.Config) { c.Endpoint = "postgres://localhost/" }, []string{"no form that mongodb knows"}},
		{"a database of MongoDB's own", func(c *drivers.Config) { c.Endpoint = "mongodb://localhost/admin" }, []string{`"admin"`}},
		{"a write concern", func(c *drivers.Config) { c.Endpoint += "&w=0" }, []string{"w, which is the benchmark's to set"}},
		{"retries", func(c *drivers.Config) { c.Endpoint += "&retryWrites=true" }, []string{"retryWrites"}},
		{"a setting that is none", func(c *drivers.Config) { c.Endpoint += "&connectTimeoutMS=soon" }, []string{"endpoint"}},
		{"an option that is none", func(c *drivers.Config) { c.Options = map[string]string{"decimals": "text"} }, []string{"decimals"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := base
			test.change(&config)
			_, err := engine(t).Open(t.Context(), config)
			drivertest.Says(t, err, config, test.want...)
		})
	}
}

func TestACollectionThatIsNotOursIsLeftAlone(t *testing.T) {
	config := small(t, 1, 1, nil)
	db := beside(t)
	drivertest.Must(t, db.Drop(t.Context()))
	_, err := db.Collection("record").InsertOne(t.Context(), bson.D{{Key: "theirs", Value: true}})
	drivertest.Must(t, err)
	drivertest.Says(t, drivertest.Open(t, engine(t), config).Prepare(t.Context()), config, "not a collection of durabench's")
	if n, err := db.Collection("record").CountDocuments(t.Context(), bson.D{}); n != 1 || err != nil {
		t.Errorf("%d documents are left, %v", n, err)
	}
	drivertest.Must(t, db.Drop(t.Context()))
}

func TestACollectionOfAnotherSpecIsRefused(t *testing.T) {
	config := small(t, 1, 1, nil)
	drivertest.Must(t, drivertest.Open(t, engine(t), config).Prepare(t.Context()))
	config.Options = map[string]string{"decimals": "units"}
	_, err := drivertest.Open(t, engine(t), config).Client(t.Context(), 0)
	drivertest.Says(t, err, config, "another value template")
}

// Every thread has a connection before the load, and no more are opened under it.
func TestSocketsAreOneForEachThread(t *testing.T) {
	config := small(t, 3, 4, nil)
	database := drivertest.Open(t, engine(t), config)
	drivertest.Must(t, database.Prepare(t.Context()))
	sockets := database.(drivers.Socketer).Sockets
	var all []drivers.Client
	for i := range config.Clients {
		client, err := database.Client(t.Context(), i)
		drivertest.Must(t, err)
		all = append(all, client)
		if got, want := sockets(), 4*(i+1); got != want {
			t.Errorf("%d sockets after client %d, want %d", got, i, want)
		}
	}
	var group sync.WaitGroup
	for worker := range 12 {
		group.Go(func() {
			var key corpus.KeyBuffer
			var row corpus.Row
			for n := range uint64(10) {
				index := uint64(worker)*10 + n
				config.Corpus.Row(&row, index, 0)
				if err := all[worker%3].Create(t.Context(), config.Corpus.Key(&key, index), &row); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if got := sockets(); got != 12 {
		t.Errorf("%d sockets after the load, want 12", got)
	}
	for _, client := range all {
		drivertest.Must(t, client.Close())
	}
	for deadline := time.Now().Add(5 * time.Second); sockets() != 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
	}
	if got := sockets(); got != 0 {
		t.Errorf("%d sockets after close", got)
	}
}
