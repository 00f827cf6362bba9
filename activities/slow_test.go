package activities

import (
	"context"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// slowEngine is a map whose creates take two milliseconds each, so that tests can come in the middle of a leg.
const slowEngine = "slow"

func init() {
	base, ok := drivers.Lookup("map")
	if !ok {
		panic("the map engine is not registered")
	}
	base.Name, base.Title = slowEngine, "Slow"
	open := base.Open
	base.Open = func(ctx context.Context, config drivers.Config) (drivers.Database, error) {
		database, err := open(ctx, config)
		if err != nil {
			return nil, err
		}
		return &slowDatabase{Database: database, Counter: database.(drivers.Counter)}, nil
	}
	drivers.Register(base)
}

type slowDatabase struct {
	drivers.Database
	drivers.Counter
}

func (d *slowDatabase) Client(ctx context.Context, i int) (drivers.Client, error) {
	client, err := d.Database.Client(ctx, i)
	return &slowClient{client}, err
}

type slowClient struct{ drivers.Client }

func (c *slowClient) Create(ctx context.Context, key corpus.Key, row *corpus.Row) error {
	time.Sleep(2 * time.Millisecond)
	return c.Client.Create(ctx, key, row)
}
