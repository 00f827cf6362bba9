package spec

import (
	"fmt"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
)

// maxIndexName is the length in bytes that PostgreSQL cuts a name to.
const maxIndexName = 63

// index resolves the index of a scan, nil when it has none or is asked to do without.
func (b *builder) index(entry ScanEntry, path string) *query.Index {
	with := entry.WithIndex
	if with == nil {
		return nil
	}
	path += ".with_index"
	index := &query.Index{Name: indexName(entry.ID), Unique: with.Unique, Kind: query.Ordered}
	switch with.IndexType {
	case "":
	case "fulltext":
		index.Kind = query.FullText
	case "count":
		index.Kind = query.CountAll
	default:
		index.Raw = with.IndexType
	}
	if (index.Kind == query.CountAll) != (len(with.Fields) == 0) {
		if index.Kind == query.CountAll {
			b.fileProblem(path+".fields", "an index that counts all rows has no fields")
		} else {
			b.fileProblem(path, "has no fields")
		}
	}
	for i, name := range with.Fields {
		b.indexField(index, name, i, fmt.Sprintf("%s.fields[%d]", path, i))
	}
	if index.Unique && index.Kind != query.Ordered {
		b.fileProblem(path+".unique", "only an index of ordered columns can be unique")
	}
	if with.Skip || b.skipIndexes {
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
func (b *builder) indexField(index *query.Index, name string, i int, path string) {
	text, elements := strings.CutSuffix(name, ".*")
	at := query.Path(strings.Split(text, "."))
	index.Paths = append(index.Paths, at)
	if b.template == nil {
		return
	}
	field, err := column(b.template, at)
	if err != nil {
		b.fileProblem(path, "%v", err)
		return
	}
	if elements && field.Kind != corpus.Array {
		b.fileProblem(path, "%s is %s and has no elements; only arrays have", text, field.Kind)
		return
	}
	switch {
	case index.Kind == query.FullText && field.Kind != corpus.String:
		b.fileProblem(path, "%s is %s: a full-text index is on a string", text, field.Kind)
	case index.Kind == query.FullText || index.Kind == query.CountAll:
	case field.Kind == corpus.Array && i == 0:
		index.Kind = query.Elements
	case field.Kind == corpus.Array || field.Kind == corpus.Object || field.Kind == corpus.Vector:
		b.fileProblem(path, "%s is %s: an index can be on it only as the first field and of an array", text, field.Kind)
	}
}

// column finds the column, or the member of one, that a path leads to.
func column(template *corpus.Template, path query.Path) (*corpus.Field, error) {
	fields := template.Columns()
	for depth, name := range path {
		var names []string
		var found *corpus.Field
		for i := range fields {
			names = append(names, fields[i].Name)
			if fields[i].Name == name {
				found = &fields[i]
			}
		}
		switch {
		case found == nil && depth == 0:
			return nil, fmt.Errorf("there is no column %q%s (columns: %s)", name, didYouMean(name, names), strings.Join(names, ", "))
		case found == nil:
			return nil, fmt.Errorf("%s has no member %q%s (members: %s)", strings.Join(path[:depth], "."), name, didYouMean(name, names), strings.Join(names, ", "))
		case depth == len(path)-1:
			return found, nil
		case found.Kind != corpus.Object:
			return nil, fmt.Errorf("%s is %s and has no members", strings.Join(path[:depth+1], "."), found.Kind)
		}
		fields = found.Elems
	}
	return nil, fmt.Errorf("names no column")
}
