package spec

import (
	"fmt"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
)

// maxIndexName is the length in bytes that PostgreSQL cuts a name to.
const maxIndexName = 63

// indexKinds are the kinds of index as our own form names them.
var indexKinds = []query.IndexKind{query.Ordered, query.Elements, query.FullText, query.CountAll}

// index resolves the index of a scan, nil when it has none or is asked to do without.
func (b *builder) index(entry ScanEntry, path string) *query.Index {
	index := &query.Index{Name: indexName(entry.ID), Kind: query.Ordered, Own: entry.Condition != nil}
	var fields []string
	skip := b.skipIndexes
	b.exclusive(path, "index", entry.Index != nil, "with_index", entry.WithIndex != nil)
	decided := true // the kind is given, and not for the columns to decide
	switch own, with := entry.Index, entry.WithIndex; {
	case own != nil:
		path += ".index"
		fields, index.Unique, decided = own.Fields, own.Unique, own.Kind != ""
		if decided {
			kind, err := oneOf(own.Kind, indexKinds...)
			if err != nil {
				b.fileProblem(path+".kind", "%v", err)
				kind = query.Ordered
			}
			index.Kind = kind
		}
	case with != nil:
		path += ".with_index"
		fields, index.Unique, skip = with.Fields, with.Unique, skip || with.Skip
		switch with.IndexType {
		case "":
			decided = false
		case "fulltext":
			index.Kind = query.FullText
		case "count":
			index.Kind = query.CountAll
		default:
			index.Raw, decided = with.IndexType, false
		}
	default:
		return nil
	}
	if index.Kind == query.CountAll && len(fields) > 0 {
		b.fileProblem(path+".fields", "an index that counts all rows has no fields")
	} else if index.Kind != query.CountAll && len(fields) == 0 {
		b.fileProblem(path, "has no fields")
	}
	if index.Kind == query.FullText && len(fields) > 1 {
		b.fileProblem(path+".fields", "a full-text index is on one column, not %d", len(fields))
	}
	for i, name := range fields {
		b.indexField(index, name, i, decided, fmt.Sprintf("%s.fields[%d]", path, i))
	}
	if index.Unique && index.Kind != query.Ordered {
		b.fileProblem(path+".unique", "only an index of ordered columns can be unique")
	}
	if skip {
		return nil
	}
	return index
}

// indexName names a scan's index in the database, apart from the table.
func indexName(id string) string {
	name := "ix_" + identifier(id)
	return name[:min(len(name), maxIndexName)]
}

// indexField adds a field to an index and refuses one that it cannot be on. "tags.*" means the elements of tags.
func (b *builder) indexField(index *query.Index, name string, i int, decided bool, place string) {
	text, elements := strings.CutSuffix(name, ".*")
	path, err := query.ParsePath(text)
	if err != nil {
		b.fileProblem(place, "%v", err)
		return
	}
	index.Paths = append(index.Paths, path)
	if b.template == nil {
		return
	}
	column, err := query.Resolve(b.template, path)
	if err != nil {
		b.fileProblem(place, "%v", err)
		return
	}
	kind := column.Field.Kind
	if elements && kind != corpus.Array {
		b.fileProblem(place, "column %s is of kind %s and has no elements: only arrays have", path, kind)
		return
	}
	if kind == corpus.Array && i == 0 && !decided {
		index.Kind = query.Elements
	}
	if why := unfit(index.Kind, kind, i); why != "" {
		b.fileProblem(place, "column %s is of kind %s: %s", path, kind, why)
	}
}

// unfit says why an index cannot have a column of a kind as its field i; "" when it can.
func unfit(index query.IndexKind, column corpus.Kind, i int) string {
	switch {
	case index == query.CountAll:
		return "" // which has no fields, and that was said
	case index == query.FullText && column != corpus.String:
		return "a full-text index is on a string"
	case index == query.Elements && i == 0 && column != corpus.Array:
		return "an index of elements begins with an array"
	case index == query.Elements && i == 0:
		return ""
	case column == corpus.Array:
		return "an index has the elements of an array only as its first field, and of kind elements"
	case column == corpus.Object:
		return "an index is on a member of it, not on the whole"
	case column == corpus.Vector:
		return "it is no column for an ordered index"
	}
	return ""
}
