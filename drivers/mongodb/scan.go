package mongodb

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// scan is a scan in MongoDB's words: a find, or a pipeline for counts and aggregates.
type scan struct {
	*query.Scan
	filter   bson.Raw
	order    bson.Raw // nil for none
	pipeline []bson.Raw
}

func (s *scan) counts() bool { return len(s.Aggregates) == 0 && s.Project == query.Count }
func (s *scan) groups() bool { return len(s.Aggregates) > 0 }

// CanScan looks for what MongoDB's language lacks.
func (c *client) CanScan(s *query.Scan) error {
	if s.Raw != nil {
		return canRaw(s.Raw)
	}
	if err := can(s.Where); err != nil {
		return err
	}
	for _, term := range s.Order {
		if err := canPath(term.Path); err != nil {
			return err
		}
	}
	for _, a := range s.Aggregates {
		if err := canPath(a.Path); err != nil {
			return err
		}
	}
	return canPath(s.GroupBy)
}

// canRaw tells whether a raw scan has documents for MongoDB.
func canRaw(raw *query.Raw) error {
	switch {
	case raw.HasWhere && raw.WhereDocument == nil:
		return drivers.Unsupported{Why: "the file has no condition for mongodb"}
	case raw.HasOrder && raw.OrderDocument == nil:
		return drivers.Unsupported{Why: "the file has no order for mongodb"}
	case len(raw.OrderDocument) > 1:
		return drivers.Unsupported{Why: "the file orders by several fields for mongodb, in no order of theirs: TOML tables have none; use order in the typed language"}
	}
	return nil
}

// NeedsIndex says that words are only found by an index.
func (c *client) NeedsIndex(s *query.Scan, _ query.Index) string {
	if s.Where != nil && countMatches(s.Where) > 0 || s.Raw != nil && hasKey(s.Raw.WhereDocument, "$text") {
		return "MongoDB finds words only by a text index"
	}
	return ""
}

// hasKey tells whether a document of a file has the key anywhere.
func hasKey(value any, key string) bool {
	switch v := value.(type) {
	case map[string]any:
		for name, inside := range v {
			if name == key || hasKey(inside, key) {
				return true
			}
		}
	case []any:
		for _, inside := range v {
			if hasKey(inside, key) {
				return true
			}
		}
	}
	return false
}

// PrepareScan renders the scan. The server keeps no prepared queries.
func (c *client) PrepareScan(_ context.Context, s *query.Scan) (drivers.Statement, error) {
	rendered, err := c.database.render(s)
	if err != nil {
		return nil, fmt.Errorf("prepare scan %s: %w", s.ID, err)
	}
	return rendered, nil
}

func (d *database) render(s *query.Scan) (*scan, error) {
	r := renderer{units: d.schema.units}
	rendered := &scan{Scan: s}
	var err error
	if s.Raw != nil {
		err = rendered.renderRaw()
	} else {
		err = rendered.renderTyped(r, d)
	}
	if err == nil && (rendered.counts() || rendered.groups()) {
		rendered.pipeline, err = r.pipeline(rendered)
	}
	return rendered, err
}

func (s *scan) renderRaw() (err error) {
	if err := canRaw(s.Raw); err != nil {
		return err
	}
	where := s.Raw.WhereDocument
	if where == nil {
		where = map[string]any{}
	}
	if s.filter, err = bson.Marshal(where); err == nil && len(s.Raw.OrderDocument) > 0 {
		s.order, err = bson.Marshal(s.Raw.OrderDocument)
	}
	return err
}

func (s *scan) renderTyped(r renderer, d *database) error {
	if err := (*client)(nil).CanScan(s.Scan); err != nil {
		return err
	}
	for _, term := range s.Order {
		if len(term.Path) > 0 {
			if column, err := query.Resolve(d.schema.template, term.Path); err != nil {
				return err
			} else if column.Field.Kind == corpus.Bytes {
				return unorderedBytes(term.Path)
			}
		}
	}
	filter, err := d.appendFilterAfter(nil, r, s.Scan)
	if err != nil {
		return err
	}
	s.filter = filter
	if len(s.Order) > 0 {
		s.order, err = orderDocument(s.Order)
	}
	return err
}

// appendFilterAfter appends the condition, and of keyset paging where the page begins.
func (d *database) appendFilterAfter(dst []byte, r renderer, s *query.Scan) ([]byte, error) {
	if s.After == nil {
		return r.appendCondition(dst, s.Where)
	}
	var buffer corpus.KeyBuffer
	at, dst := bsoncore.AppendDocumentStart(dst)
	dst, err := d.schema.appendKeyBound(dst, "$gt", d.corpus.Key(&buffer, *s.After))
	if err != nil {
		return dst, err
	}
	if s.Where != nil {
		if dst, err = r.appendList(dst, "$and", []*query.Predicate{s.Where}); err != nil {
			return dst, err
		}
	}
	return bsoncore.AppendDocumentEnd(dst, at)
}

// appendKeyBound appends a comparison of the key.
func (s *schema) appendKeyBound(dst []byte, operator string, key corpus.Key) ([]byte, error) {
	at, dst := bsoncore.AppendDocumentElementStart(dst, "_id")
	dst, err := s.appendKeyAs(dst, operator, key)
	if err != nil {
		return dst, err
	}
	return bsoncore.AppendDocumentEnd(dst, at)
}

func orderDocument(order []query.Order) (bson.Raw, error) {
	at, dst := bsoncore.AppendDocumentStart(nil)
	for _, term := range order {
		name, direction := "_id", int32(1)
		if len(term.Path) > 0 {
			name = dotted(term.Path)
		}
		if term.Desc {
			direction = -1
		}
		dst = bsoncore.AppendInt32Element(dst, name, direction)
	}
	return bsoncore.AppendDocumentEnd(dst, at)
}

// keyOnly is the projection of an ID scan.
var keyOnly = bson.Raw(bsoncore.NewDocumentBuilder().AppendInt32("_id", 1).Build())

// open starts the scan.
func (c *client) open(ctx context.Context, s *scan) (*mongo.Cursor, error) {
	if s.pipeline != nil {
		return c.rows.Aggregate(ctx, s.pipeline)
	}
	find := options.Find()
	if s.order != nil {
		find.SetSort(s.order)
	}
	if s.Offset > 0 {
		find.SetSkip(s.Offset)
	}
	if s.Limit > 0 {
		find.SetLimit(s.Limit)
	}
	if s.Project == query.ID {
		find.SetProjection(keyOnly)
	}
	return c.rows.Find(ctx, s.filter, find)
}

// Scan receives the documents of all batches. The server chooses how many a batch has.
func (c *client) Scan(ctx context.Context, statement drivers.Statement, answer *drivers.Answer) error {
	answer.Reset()
	s := statement.(*scan)
	cursor, err := c.open(ctx, s)
	if err == nil && s.counts() {
		err = receiveCount(ctx, cursor, answer)
	} else if err == nil {
		_, err = receive(ctx, cursor, answer)
	}
	return failed("scan "+s.ID, ctx, err)
}

// oneAnswer is the batch size with which the first answer has all of so many documents and the end of the cursor. With a batch as large as what there is
// the server would not know yet that there is no more, and the driver would ask.
func oneAnswer(documents int64) int32 { return int32(min(documents, maxBatchRows)) + 1 }

// receive takes every document of a cursor and closes it. It returns how many requests that took, the one that opened the cursor among them.
func receive(ctx context.Context, cursor *mongo.Cursor, answer *drivers.Answer) (requests int, err error) {
	keep := answer.Keep || answer.Each != nil
	for requests = 1; ; {
		if cursor.RemainingBatchLength() == 0 && cursor.ID() != 0 {
			requests++ // Next sends a getMore, which may bring nothing
		}
		if !cursor.Next(ctx) {
			break
		}
		if keep {
			answer.Bytes = append(answer.Bytes, cursor.Current...)
			answer.Ends = append(answer.Ends, len(answer.Bytes))
		}
		if err := answer.Row(int64(len(cursor.Current))); err != nil {
			return requests, errors.Join(err, cursor.Close(ctx))
		}
	}
	return requests, errors.Join(cursor.Err(), cursor.Close(ctx))
}

// receiveCount takes the number out of the one document of a count; without rows there is none.
func receiveCount(ctx context.Context, cursor *mongo.Cursor, answer *drivers.Answer) error {
	var lines drivers.Answer
	lines.Keep = true
	if _, err := receive(ctx, cursor, &lines); err != nil || lines.Rows == 0 {
		return err
	}
	n, ok := bson.Raw(lines.Bytes).Lookup(countField).AsInt64OK()
	if !ok || lines.Rows != 1 {
		return fmt.Errorf("the answer to a count is %d documents, first %v", lines.Rows, bson.Raw(lines.Bytes[:lines.Ends[0]]))
	}
	answer.Count, answer.Size = n, lines.Size
	return nil
}

// eachDocument hands over the documents of an answer.
func eachDocument(answer *drivers.Answer, each func(document []byte) error) error {
	start := 0
	for _, end := range answer.Ends {
		if err := each(answer.Bytes[start:end]); err != nil {
			return err
		}
		start = end
	}
	return nil
}

// DecodeScan reads the documents.
func (c *client) DecodeScan(statement drivers.Statement, answer *drivers.Answer, each func(corpus.Key, *corpus.Row) error) error {
	s := statement.(*scan)
	if s.counts() || s.groups() {
		return fmt.Errorf("scan %s returns no rows of the collection", s.ID)
	}
	return c.decodeRows(answer, s.Project != query.ID, each)
}

// decodeRows reads documents with a key and, when they are full, with every field.
func (c *client) decodeRows(answer *drivers.Answer, full bool, each func(corpus.Key, *corpus.Row) error) error {
	var row corpus.Row
	return eachDocument(answer, func(document []byte) error {
		key, err := c.database.schema.decode(document, &row)
		if err == nil && key.Kind() == "" {
			err = errors.New("it has no key")
		}
		if err == nil && !full {
			elements, _ := bsoncore.Document(document).Elements()
			if len(elements) != 1 {
				err = fmt.Errorf("it has %d fields, and only the key was asked for", len(elements))
			}
		}
		if err != nil {
			return fmt.Errorf("mongodb: document: %w", err)
		}
		return each(key, &row)
	})
}

// Range reads on from a key, in the order of the index on it.
func (c *client) Range(ctx context.Context, from corpus.Key, most int64, answer *drivers.Answer) error {
	answer.Reset()
	err := c.request(func(dst []byte) ([]byte, error) {
		at, dst := bsoncore.AppendDocumentStart(dst)
		dst, err := c.database.schema.appendKeyBound(dst, "$gte", from)
		if err == nil {
			dst, err = bsoncore.AppendDocumentEnd(dst, at)
		}
		if err != nil {
			return dst, err
		}
		// All of it in one answer, as far as it fits.
		find := options.Find().SetSort(keyOnly).SetLimit(most).SetBatchSize(oneAnswer(most))
		cursor, err := c.rows.Find(ctx, bson.Raw(dst), find)
		if err == nil {
			_, err = receive(ctx, cursor, answer)
		}
		return dst, err
	})
	return failed("range", ctx, err)
}

// DecodeRange reads the documents.
func (c *client) DecodeRange(answer *drivers.Answer, each func(corpus.Key, *corpus.Row) error) error {
	return c.decodeRows(answer, true, each)
}

var (
	_ drivers.Scanner     = (*client)(nil)
	_ drivers.Ranger      = (*client)(nil)
	_ drivers.IndexNeeder = (*client)(nil)
)
