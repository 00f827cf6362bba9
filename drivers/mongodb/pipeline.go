package mongodb

import (
	"fmt"
	"math"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// countField holds the number in the answer to a count.
const countField = "n"

// pipeline renders a count or aggregates.
func (r renderer) pipeline(s *scan) ([]bson.Raw, error) {
	var stages []bson.Raw
	stage := func(value any, operator string) error {
		document, err := bson.Marshal(bson.D{{Key: operator, Value: value}})
		stages = append(stages, document)
		return err
	}
	if err := stage(s.filter, "$match"); err != nil {
		return nil, err
	}
	if s.groups() {
		return stages, stage(groupStage(s.Scan), "$group")
	}
	for _, page := range []struct {
		operator string
		n        int64
	}{{"$skip", s.Offset}, {"$limit", s.Limit}} {
		if page.n > 0 {
			if err := stage(page.n, page.operator); err != nil {
				return nil, err
			}
		}
	}
	return stages, stage(bson.D{{Key: "_id", Value: nil}, {Key: countField, Value: bson.D{{Key: "$sum", Value: 1}}}}, "$group")
}

// groupStage has a field for each aggregate: a0, a1 and so on.
func groupStage(s *query.Scan) bson.D {
	group := bson.D{{Key: "_id", Value: nil}}
	if len(s.GroupBy) > 0 {
		group[0].Value = "$" + dotted(s.GroupBy)
	}
	for i, a := range s.Aggregates {
		value := bson.D{{Key: "$sum", Value: 1}}
		if a.Func != query.Number {
			value = bson.D{{Key: "$" + string(a.Func), Value: "$" + dotted(a.Path)}}
		}
		group = append(group, bson.E{Key: "a" + strconv.Itoa(i), Value: value})
	}
	return group
}

// DecodeGroups reads a document for each group.
func (c *client) DecodeGroups(statement drivers.Statement, answer *drivers.Answer) (groups []query.Group, err error) {
	s := statement.(*scan)
	if !s.groups() {
		return nil, fmt.Errorf("scan %s has no groups", s.ID)
	}
	err = eachDocument(answer, func(document []byte) error {
		group, err := c.database.schema.decodeGroup(s.Scan, document)
		groups = append(groups, group)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("scan %s: group %d: %w", s.ID, len(groups), err)
	}
	return groups, nil
}

func (s *schema) decodeGroup(of *query.Scan, document []byte) (group query.Group, err error) {
	elements, err := bsoncore.Document(document).Elements()
	if err == nil {
		err = checkEnd(document)
	}
	if err != nil {
		return group, fmt.Errorf("document is damaged: %w", err)
	}
	if len(elements) != 1+len(of.Aggregates) || elements[0].Key() != "_id" {
		return group, fmt.Errorf("%d fields for %d aggregates and the group", len(elements), len(of.Aggregates))
	}
	if len(of.GroupBy) > 0 {
		column, err := query.Resolve(s.template, of.GroupBy)
		if err != nil {
			return group, err
		}
		var row corpus.Row
		var v corpus.Value
		if err := s.decodeValue(column.Field, elements[0].Value(), &row, &v); err != nil {
			return group, err
		}
		group.Key = query.LiteralOf(&v)
	}
	for i, a := range of.Aggregates {
		value, err := s.aggregate(a, elements[1+i].Value())
		if err != nil {
			return group, fmt.Errorf("aggregate %d: %w", i, err)
		}
		group.Values = append(group.Values, value)
	}
	return group, nil
}

// aggregate turns a number of any of MongoDB's four types into the nearest float64.
func (s *schema) aggregate(a query.Aggregate, value bsoncore.Value) (float64, error) {
	inUnits := false
	if s.units && a.Func != query.Number {
		column, err := query.Resolve(s.template, a.Path)
		if err != nil {
			return 0, err
		}
		inUnits = column.Field.Kind == corpus.Decimal
	}
	switch value.Type {
	case bsoncore.TypeInt32, bsoncore.TypeInt64:
		n, _ := value.AsInt64OK()
		if inUnits {
			return strconv.ParseFloat(string(corpus.AppendDecimal(nil, n)), 64)
		}
		return float64(n), nil
	case bsoncore.TypeDouble:
		if inUnits {
			return value.Double() / math.Pow10(decimalPlaces), nil
		}
		return value.Double(), nil
	case bsoncore.TypeDecimal128:
		high, low := value.Decimal128()
		return strconv.ParseFloat(bson.NewDecimal128(high, low).String(), 64)
	}
	return 0, fmt.Errorf("it comes back as %s", value.Type)
}
