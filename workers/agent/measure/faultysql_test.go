package measure

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
)

// The faulty SQL engine is SQLite that goes wrong, once it is told to, in the way that was named.
const faultySQL = "faultysql"

func init() {
	base, ok := drivers.Lookup("sqlite")
	if !ok {
		panic("the sqlite engine is not registered")
	}
	base.Name, base.Title = faultySQL, "Faulty SQLite"
	open := base.Open
	base.Open = func(ctx context.Context, config drivers.Config) (drivers.Database, error) {
		database, err := open(ctx, config)
		if err != nil {
			return nil, err
		}
		server, _ := faultyServers.LoadOrStore(config.Dir, &faultyServer{})
		return &faultySQLDatabase{sqlDatabase: database.(sqlDatabase), faultyServer: server.(*faultyServer), corpus: config.Corpus}, nil
	}
	drivers.Register(base)
}

// The abilities of SQLite that are passed on.
type (
	sqlDatabase interface {
		drivers.Database
		drivers.Counter
		drivers.Marker
		drivers.Indexer
		drivers.Analyzer
	}
	sqlClient interface {
		drivers.Client
		drivers.Scanner
		drivers.Batcher
		drivers.Ranger
		drivers.Modifier
		drivers.Explainer
	}
)

// faultyServer is what goes on at the server, whether or not there is an agent.
type faultyServer struct {
	fault    atomic.Value // string
	calls    atomic.Int64 // since the fault was set
	analyses atomic.Int64

	drops    atomic.Int64
	onCreate func() // of an index

	lock     sync.Mutex
	building *pending
}

// faultyServers has the servers by their directories.
var faultyServers sync.Map

// is tells whether the fault is that one.
func (s *faultyServer) is(fault string) bool {
	f, _ := s.fault.Load().(string)
	return f == fault
}

type faultySQLDatabase struct {
	sqlDatabase
	*faultyServer
	corpus *corpus.Corpus
}

func (d *faultySQLDatabase) Prepare(ctx context.Context) error {
	if d.is("prepare fails") {
		return errors.New("disk is full")
	}
	return d.sqlDatabase.Prepare(ctx)
}

func (d *faultySQLDatabase) Analyze(ctx context.Context) error {
	d.analyses.Add(1)
	return d.sqlDatabase.Analyze(ctx)
}

func (d *faultySQLDatabase) Client(ctx context.Context, i int) (drivers.Client, error) {
	client, err := d.sqlDatabase.Client(ctx, i)
	if err != nil {
		return nil, err
	}
	return &faultySQLClient{client.(sqlClient), d}, nil
}

// slowBuild is how long a build goes on after somebody has begun to wait for it.
const slowBuild = 150 * time.Millisecond

// pending is a build that goes on without its call. It is seen to have ended when somebody looks.
type pending struct {
	index query.Index
	ends  time.Time // zero until somebody waits for it: however slow the test is, it does not end before it was found
}

// begin has the server build behind everyone's back.
func (s *faultyServer) begin(index query.Index) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.building = &pending{index: index}
}

// goesOn tells whoever waits whether a build is under way, and ends the one whose time has come.
func (d *faultySQLDatabase) goesOn(ctx context.Context) (bool, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	switch {
	case d.building == nil:
		return false, nil
	case d.building.ends.IsZero():
		d.building.ends = time.Now().Add(slowBuild)
	}
	if time.Now().Before(d.building.ends) {
		return true, nil
	}
	index := d.building.index
	d.building = nil
	return false, d.sqlDatabase.CreateIndex(ctx, index)
}

func (d *faultySQLDatabase) CreateIndex(ctx context.Context, index query.Index) error {
	if d.onCreate != nil {
		d.onCreate()
	}
	switch {
	case d.is("build fails"):
		return errors.New("no space left")
	case d.is("build fails late"), d.is("build fails late, and drops"):
		return errors.Join(d.sqlDatabase.CreateIndex(ctx, index), errors.New("no space left"))
	case d.is("slow build"):
		d.begin(index)
		return nil
	}
	waited := false
	for {
		switch on, err := d.goesOn(ctx); {
		case err != nil:
			return err
		case on:
			waited = true
			time.Sleep(time.Millisecond)
		case waited:
			return drivers.ErrExists
		default:
			return d.sqlDatabase.CreateIndex(ctx, index)
		}
	}
}

func (d *faultySQLDatabase) IndexState(ctx context.Context, index query.Index) (drivers.IndexState, error) {
	on := false
	if !d.is("build under way, unseen") {
		var err error
		if on, err = d.goesOn(ctx); err != nil {
			return drivers.IndexState{}, err
		}
	}
	state, err := d.sqlDatabase.IndexState(ctx, index)
	state.Ready = state.Ready && !d.is("never ready")
	state.Exists = state.Exists || on
	return state, err
}

func (d *faultySQLDatabase) DropIndex(ctx context.Context, index query.Index) error {
	d.drops.Add(1)
	switch {
	case d.is("lost drop"):
		return nil
	case d.is("drop fails"), d.is("build fails late, and drops"):
		return errors.New("disk is full")
	case d.is("first drop fails") && d.calls.Add(1) == 1:
		return errors.New("lock wait timeout")
	}
	return d.sqlDatabase.DropIndex(ctx, index)
}

type faultySQLClient struct {
	sqlClient
	on *faultySQLDatabase
}

func (c *faultySQLClient) PrepareScan(ctx context.Context, s *query.Scan) (drivers.Statement, error) {
	other := *s
	switch {
	case c.on.is("other condition"):
		other.Where = &query.Predicate{Op: query.Not, Args: []*query.Predicate{s.Where}}
	case c.on.is("other order"):
		other.Order = []query.Order{{Path: s.Order[0].Path, Desc: !s.Order[0].Desc}}
	case c.on.is("other page"):
		other.Offset++
	case c.on.is("short"):
		other.Limit--
	}
	return c.sqlClient.PrepareScan(ctx, &other)
}

func (c *faultySQLClient) Scan(ctx context.Context, statement drivers.Statement, answer *drivers.Answer) error {
	if c.on.is("scans fail and a row is lost") {
		if calls := c.on.calls.Add(1); calls%4 == 0 {
			var buffer corpus.KeyBuffer
			if err := c.sqlClient.Delete(ctx, c.on.corpus.Key(&buffer, 0)); calls == 4 && err != nil {
				return err
			}
			return errors.New("server is busy")
		}
	}
	err := c.sqlClient.Scan(ctx, statement, answer)
	if c.on.calls.Add(1) > 2 && c.on.is("wrong later") { // when the whole answer was checked, and the first on the clock
		answer.Rows, answer.Count = answer.Rows-1, answer.Count-1
	}
	return err
}

func (c *faultySQLClient) DecodeScan(statement drivers.Statement, answer *drivers.Answer, each func(corpus.Key, *corpus.Row) error) error {
	return c.sqlClient.DecodeScan(statement, answer, func(key corpus.Key, row *corpus.Row) error {
		if row != nil && c.on.is("wrong content") {
			row.SetText(&row.Columns[2], "another name")
		}
		return each(key, row)
	})
}

func (c *faultySQLClient) DecodeGroups(statement drivers.Statement, answer *drivers.Answer) ([]query.Group, error) {
	groups, err := c.sqlClient.DecodeGroups(statement, answer)
	if c.on.is("wrong sum") {
		groups[0].Values[0]++
	}
	return groups, err
}

func (c *faultySQLClient) Explain(ctx context.Context, s *query.Scan, index query.Index) (drivers.Explanation, error) {
	explanation, err := c.sqlClient.Explain(ctx, s, index)
	if c.on.is("index not used") {
		explanation = drivers.Explanation{Text: "SCAN record"}
	}
	return explanation, err
}

func (c *faultySQLClient) Create(ctx context.Context, key corpus.Key, row *corpus.Row) error {
	if c.on.is("lost insert") && c.on.calls.Add(1)%2 == 0 {
		return nil
	}
	return c.sqlClient.Create(ctx, key, row)
}

func (c *faultySQLClient) Update(ctx context.Context, key corpus.Key, row *corpus.Row) error {
	switch {
	case c.on.is("lost update") && c.on.calls.Add(1)%3 == 0:
		return nil
	case c.on.is("slow update"):
		time.Sleep(5 * time.Millisecond)
	case c.on.is("update fails"):
		return errors.New("disk is full")
	}
	return c.sqlClient.Update(ctx, key, row)
}

func (c *faultySQLClient) Modify(ctx context.Context, key corpus.Key, rec *drivers.Record, next *corpus.Row) error {
	switch {
	case c.on.is("lost modify"):
		return c.sqlClient.Read(ctx, key, rec)
	case c.on.is("modify in two transactions"):
		return errors.Join(c.sqlClient.Read(ctx, key, rec), c.sqlClient.Update(ctx, key, next))
	case c.on.is("modify fails"):
		return errors.New("disk is full")
	}
	return c.sqlClient.Modify(ctx, key, rec, next)
}

func (c *faultySQLClient) Range(ctx context.Context, from corpus.Key, most int64, answer *drivers.Answer) error {
	err := c.sqlClient.Range(ctx, from, most, answer)
	switch {
	case c.on.is("range with a gap") && answer.Rows > 1:
		answer.Rows--
	case c.on.is("some ranges too long") && c.on.calls.Add(1)%3 == 0:
		answer.Rows++
	}
	return err
}

func (c *faultySQLClient) DecodeRange(answer *drivers.Answer, each func(corpus.Key, *corpus.Row) error) error {
	row := 0
	return c.sqlClient.DecodeRange(answer, func(key corpus.Key, r *corpus.Row) error {
		if row++; row == 2 && c.on.is("range with a gap") {
			return nil
		}
		return each(key, r)
	})
}

func (c *faultySQLClient) CreateBatch(ctx context.Context, keys []corpus.Key, rows []*corpus.Row) (int, error) {
	switch {
	case c.on.is("short batch"):
		keys, rows = keys[1:], rows[1:]
	case c.on.is("a batch fails and a row is lost"):
		switch c.on.calls.Add(1) {
		case 1:
			return 1, errors.New("connection reset")
		case 2:
			keys, rows = keys[1:], rows[1:]
		}
	}
	return c.sqlClient.CreateBatch(ctx, keys, rows)
}

func (c *faultySQLClient) ReadBatch(ctx context.Context, keys []corpus.Key, answer *drivers.Answer) (int, error) {
	requests, err := c.sqlClient.ReadBatch(ctx, keys, answer)
	if c.on.is("row missing") {
		answer.Rows--
	}
	return requests, err
}

func (c *faultySQLClient) UpdateBatch(ctx context.Context, keys []corpus.Key, rows []*corpus.Row) (int, error) {
	if c.on.is("lost batch") {
		return 1, nil
	}
	return c.sqlClient.UpdateBatch(ctx, keys, rows)
}

// server returns the server of a run on the faulty engine.
func (r *run) server() *faultyServer {
	server, _ := faultyServers.LoadOrStore(r.dir, &faultyServer{})
	return server.(*faultyServer)
}

// set makes the engine go wrong from now on.
func (r *run) set(fault string) {
	r.server().calls.Store(0)
	r.server().fault.Store(fault)
}

// workload returns a run of a workload file.
func workload(t *testing.T, engine, file string, change func(*spec.Spec)) *run {
	t.Helper()
	path := filepath.Join(t.TempDir(), "workload.toml")
	require.NoError(t, os.WriteFile(path, []byte(file), 0o600))
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	flags := spec.NewFlags(set)
	require.NoError(t, set.Parse([]string{"-d", engine, "-s", "300", "-c", "2", "-t", "2", "-k", "string26", "-r", "--corpus-seed", "5", "--config", path}))
	request, err := spec.Build(flags, nil, spec.Facts{Engines: []spec.EngineFacts{{Name: engine, Servers: []string{"embedded"}}}})
	require.NoError(t, err)
	s := *request.Spec
	if change != nil {
		change(&s)
	}
	r := &run{t: t, spec: s, dir: t.TempDir(), attempt: 1}
	known, ok := drivers.Lookup(engine)
	require.True(t, ok)
	r.plan, err = plan.New(&s, known.PlanAbilities(&s))
	require.NoError(t, err)
	r.open()
	return r
}

// upTo runs the steps before one, which must be valid. Expected answers are kept in a directory of the test's.
func (r *run) upTo(id string) {
	r.t.Helper()
	for _, step := range r.plan.Steps {
		switch {
		case step.ID == id:
			return
		case step.Kind == plan.Calibrate || step.Skip != "":
		default:
			r.must(step.ID)
		}
	}
	r.t.Fatalf("the plan has no step %s", id)
}
