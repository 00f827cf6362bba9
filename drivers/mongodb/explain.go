package mongodb

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// Explain asks for the plan that the server chooses, without running the scan. The index serves the scan when a stage of the winning plan names it;
// the plans that the server rejected name others.
func (c *client) Explain(ctx context.Context, s *query.Scan, index query.Index) (drivers.Explanation, error) {
	rendered, err := c.database.render(s)
	if err != nil {
		return drivers.Explanation{}, fmt.Errorf("explain scan %s: %w", s.ID, err)
	}
	command := bson.D{{Key: "explain", Value: rendered.command()}, {Key: "verbosity", Value: "queryPlanner"}}
	answer, err := c.rows.Database().RunCommand(ctx, command).Raw()
	if err != nil {
		return drivers.Explanation{}, failed("explain scan "+s.ID, ctx, err)
	}
	return explanation(answer, indexName(index))
}

// command is the scan as a command, which Explain needs.
func (s *scan) command() bson.D {
	if s.pipeline != nil {
		return bson.D{{Key: "aggregate", Value: drivers.Table}, {Key: "pipeline", Value: s.pipeline}, {Key: "cursor", Value: bson.D{}}}
	}
	command := bson.D{{Key: "find", Value: drivers.Table}, {Key: "filter", Value: s.filter}}
	if s.order != nil {
		command = append(command, bson.E{Key: "sort", Value: s.order})
	}
	if s.Project == query.ID {
		command = append(command, bson.E{Key: "projection", Value: keyOnly})
	}
	if s.Offset > 0 {
		command = append(command, bson.E{Key: "skip", Value: s.Offset})
	}
	if s.Limit > 0 {
		command = append(command, bson.E{Key: "limit", Value: s.Limit})
	}
	return command
}

// explanation finds the winning plan in the answer, which is inside a stage's cursor for some pipelines.
func explanation(answer bson.Raw, name string) (e drivers.Explanation, err error) {
	var plans []bson.RawValue
	eachNamed(answer, "winningPlan", func(plan bson.RawValue) { plans = append(plans, plan) })
	if len(plans) == 0 {
		return e, fmt.Errorf("the server's explanation has no winning plan: %.300s", answer)
	}
	for _, plan := range plans {
		e.Text += plan.String()
		if inside, ok := plan.DocumentOK(); ok {
			eachNamed(inside, "indexName", func(value bson.RawValue) {
				used, _ := value.StringValueOK()
				e.Uses = e.Uses || used == name
			})
		}
	}
	e.Text = drivers.CutPlan(e.Text)
	return e, nil
}

// eachNamed hands over the values of all fields of the name, wherever they are in the document.
func eachNamed(document bson.Raw, name string, found func(bson.RawValue)) {
	elements, err := document.Elements()
	if err != nil {
		return // what is damaged has no plan
	}
	for _, element := range elements {
		value := element.Value()
		if element.Key() == name {
			found(value)
			continue
		}
		if inside, ok := value.DocumentOK(); ok {
			eachNamed(inside, name, found)
		} else if list, ok := value.ArrayOK(); ok {
			eachNamed(bson.Raw(list), name, found)
		}
	}
}

var _ drivers.Explainer = (*client)(nil)
