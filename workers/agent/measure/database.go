package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/workers/agent"
)

const (
	// openTimeout bounds opening and asking a server that is said to be ready.
	openTimeout = time.Minute
	// clientTimeout is what the opening of all clients may take, plus clientTime for each.
	clientTimeout = 30 * time.Second
	clientTime    = 100 * time.Millisecond
	// countTimeout bounds counting the rows, which takes some engines a walk over all of them.
	countTimeout = 10 * time.Minute
)

// database is an open engine with its clients.
type database struct {
	drivers.Database
	engine   drivers.Engine
	tier     drivers.Tier // asked for
	settings drivers.Settings
	version  string
	clients  []drivers.Client
}

// open opens the run's database without its clients and makes sure that it is what was asked for.
func (s *session) open(ctx context.Context) (db *database, err error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	spec := s.setup.Spec
	profile := drivers.Profile{Sync: spec.Sync, Persisted: spec.Persisted, Optimised: spec.Optimised}
	tier, err := s.engine.Tier(profile)
	if err != nil {
		return nil, &problem{agent.ErrorSpec, fmt.Errorf("durability of %s: %w", s.engine.Title, err)}
	}
	opened, err := s.engine.Open(ctx, drivers.Config{
		Endpoint: s.setup.Endpoint, Credentials: s.credentials, Dir: s.setup.Dir, Clients: spec.Clients, Threads: spec.Threads,
		Profile: profile, Tier: tier, Corpus: s.corpus, Options: spec.Engine, Searches: spec.Searched, Logger: s.logger,
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", s.where(), err)
	}
	db = &database{Database: opened, engine: s.engine, tier: tier}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.close())
			db = nil
		}
	}()
	if db.version, err = opened.Version(ctx); err != nil {
		return db, fmt.Errorf("read the version of %s: %w", s.where(), err)
	}
	if db.settings, err = opened.Settings(ctx); err != nil {
		return db, fmt.Errorf("read back the settings of %s: %w", s.where(), err)
	}
	if err := db.settings.Require(tier); err != nil {
		return db, &problem{agent.ErrorDurability, err}
	}
	if preflighter, ok := opened.(drivers.Preflighter); ok {
		if err := preflighter.Preflight(ctx); err != nil {
			return db, &problem{agent.ErrorPreflight, fmt.Errorf("before loading %s: %w", s.where(), err)}
		}
	}
	return db, nil
}

// where names the database for errors.
func (s *session) where() string {
	if s.setup.Endpoint == "" {
		return s.engine.Title
	}
	return s.engine.Title + " at " + s.setup.Endpoint
}

// bounded ends the context of one operation that is not measured when it has taken as long as a measured one may, and so much more.
func (s *session) bounded(ctx context.Context, more time.Duration) (context.Context, context.CancelFunc) {
	limit := time.Duration(s.setup.Spec.OperationTimeout)
	if limit <= 0 {
		return ctx, func() {}
	}
	limit += more
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %v", limit))
}

// connect opens all clients: a run with fewer than asked for would be another run. say tells how far it is.
func (db *database) connect(ctx context.Context, n int, say func(string)) error {
	limit := clientTimeout + time.Duration(n)*clientTime
	bounded, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %v", limit))
	defer cancel()
	for i := len(db.clients); i < n; i++ {
		client, err := db.Client(bounded, i)
		if err != nil {
			if ctx.Err() == nil && bounded.Err() != nil {
				err = errors.Join(context.Cause(bounded), err)
			}
			return fmt.Errorf("open client %d of %d: %w", i+1, n, err)
		}
		db.clients = append(db.clients, client)
		say(fmt.Sprintf("opening clients: %d of %d", i+1, n))
	}
	return nil
}

// count returns the rows in the table; it is nil where the engine cannot count.
func (db *database) count(ctx context.Context) (*int64, error) {
	counter, ok := db.Database.(drivers.Counter)
	if !ok {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	rows, err := counter.Count(ctx)
	if err != nil {
		return nil, fmt.Errorf("count the rows: %w", err)
	}
	return &rows, nil
}

// close closes the clients and then the database.
func (db *database) close() error {
	var problems []error
	for i, client := range db.clients {
		if err := client.Close(); err != nil {
			problems = append(problems, fmt.Errorf("close client %d: %w", i+1, err))
		}
	}
	db.clients = nil
	if err := db.Database.Close(); err != nil {
		problems = append(problems, fmt.Errorf("close the database: %w", err))
	}
	return errors.Join(problems...)
}

// retries begins to count the requests that are sent again. What it returns ends it, with nil when the engine never sends one again.
func (db *database) retries() (end func() *int64) {
	retrier, does := db.Database.(drivers.Retrier)
	if !does {
		return func() *int64 { return nil }
	}
	before := retrier.Retries()
	return func() *int64 {
		n := retrier.Retries() - before
		return &n
	}
}

// found describes the database for the result.
func (s *session) found(db *database) *result.Engine {
	spec := s.setup.Spec
	engine := &result.Engine{
		Name: s.engine.Name, Title: s.engine.Title, Family: string(s.engine.Family), Version: db.version,
		Server: s.setup.Server, Endpoint: s.setup.Endpoint,
		TierAsked: string(db.tier), Tier: string(db.settings.Tier),
		Settings: []result.Setting{}, Profile: []result.Setting{},
		Clients: spec.Clients, Threads: spec.Threads,
	}
	for _, setting := range db.settings.Values {
		engine.Settings = append(engine.Settings, result.Setting(setting))
	}
	if socketer, ok := db.Database.(drivers.Socketer); ok {
		sockets := socketer.Sockets()
		engine.Sockets = &sockets
	}
	describer, ok := db.Database.(drivers.Describer)
	if !ok && len(db.clients) > 0 {
		describer, ok = db.clients[0].(drivers.Describer)
	}
	if ok {
		engine.Carries = describer.Carries()
	}
	return engine
}
