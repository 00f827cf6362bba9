package mongodb

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/durabench/durabench/drivers"
)

// noteCollection holds one document that says that the collection of the rows is ours, what shape its documents have, and the text of Mark.
// MongoDB keeps no comment with a collection.
const noteCollection = "durabench_note"

// note is that document.
type note struct {
	ID    string `bson:"_id"` // the collection's name
	Shape string `bson:"shape"`
	Mark  string `bson:"mark"`
}

func (d *database) notes() *mongo.Collection {
	return d.control.Database(d.name).Collection(noteCollection)
}

// look finds the note, nil when there is none, and tells whether the collection is there.
func (d *database) look(ctx context.Context) (found *note, there bool, err error) {
	if d.closed.Load() {
		return nil, false, drivers.ErrClosed
	}
	names, err := d.control.Database(d.name).ListCollectionNames(ctx, bson.D{{Key: "name", Value: drivers.Table}})
	if err != nil {
		return nil, false, classify(err)
	}
	found = new(note)
	err = d.notes().FindOne(ctx, bson.D{{Key: "_id", Value: drivers.Table}}).Decode(found)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, len(names) > 0, nil
	}
	return found, len(names) > 0, classify(err)
}

// Prepare drops the collection of an earlier run and makes an empty one.
func (d *database) Prepare(ctx context.Context) error {
	if err := d.prepare(ctx); err != nil {
		return fmt.Errorf("prepare the collection %s.%s: %w", d.name, drivers.Table, err)
	}
	return nil
}

func (d *database) prepare(ctx context.Context) error {
	found, there, err := d.look(ctx)
	if err != nil {
		return err
	}
	if there && found == nil {
		return errors.New("it is not a collection of durabench's: rename or drop it yourself, or name another database in the endpoint")
	}
	// The note first: a run that dies in between leaves a collection that is known to be ours.
	fresh := note{ID: drivers.Table, Shape: d.schema.shape()}
	if _, err := d.notes().ReplaceOne(ctx, bson.D{{Key: "_id", Value: drivers.Table}}, fresh, options.Replace().SetUpsert(true)); err != nil {
		return classify(err)
	}
	if err := d.rows().Drop(ctx); err != nil {
		return classify(err)
	}
	return classify(d.control.Database(d.name).CreateCollection(ctx, drivers.Table))
}

// checkCollection makes sure that the collection was made for this corpus.
func (d *database) checkCollection(ctx context.Context) error {
	found, there, err := d.look(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("look at the collection %s.%s: %w", d.name, drivers.Table, err)
	case !there || found == nil:
		return fmt.Errorf("the collection %s.%s is not there, or not ours: nothing has been loaded", d.name, drivers.Table)
	case found.Shape != d.schema.shape():
		return fmt.Errorf("the collection %s.%s was made for other documents or keys: it belongs to a run with another value template, key type or form of decimals",
			d.name, drivers.Table)
	}
	return nil
}

// Count counts the rows by going through them; the server's own estimate can be wrong after it was killed.
func (d *database) Count(ctx context.Context) (int64, error) {
	if d.closed.Load() {
		return 0, fmt.Errorf("count the rows: %w", drivers.ErrClosed)
	}
	n, err := d.rows().CountDocuments(ctx, bson.D{})
	if err != nil {
		return 0, fmt.Errorf("count the rows: %w", classify(err))
	}
	return n, nil
}

// Mark keeps the text in the note.
func (d *database) Mark(ctx context.Context, text string) error {
	found, there, err := d.look(ctx)
	if err == nil && (!there || found == nil) {
		err = errors.New("it is not there")
	}
	if err == nil {
		_, err = d.notes().UpdateOne(ctx, bson.D{{Key: "_id", Value: drivers.Table}}, bson.D{{Key: "$set", Value: bson.D{{Key: "mark", Value: text}}}})
		err = classify(err)
	}
	if err != nil {
		return fmt.Errorf("mark the collection %s.%s: %w", d.name, drivers.Table, err)
	}
	return nil
}

// Marked returns the text. A note without its collection is that of rows that were dropped.
func (d *database) Marked(ctx context.Context) (string, error) {
	found, there, err := d.look(ctx)
	if err != nil {
		return "", fmt.Errorf("read the mark of the collection %s.%s: %w", d.name, drivers.Table, err)
	}
	if found == nil || !there {
		return "", nil
	}
	return found.Mark, nil
}

var _ drivers.Marker = (*database)(nil)
