package mongodb

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/durabench/durabench/drivers"
)

// Monitor has every command of clients that are opened from now on shown to started.
func Monitor(opened drivers.Database, started func(command string)) {
	opened.(*database).config.SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) { started(e.CommandName) }})
}

// ReceiveAll receives all documents of the collection, in answers of so many.
func ReceiveAll(ctx context.Context, c drivers.Client, documents int32, answer *drivers.Answer) (requests int, err error) {
	cursor, err := c.(*client).rows.Find(ctx, bson.D{}, options.Find().SetBatchSize(documents))
	if err != nil {
		return 1, err
	}
	return receive(ctx, cursor, answer)
}
