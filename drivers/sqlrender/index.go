package sqlrender

import (
	"fmt"
	"hash/fnv"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
)

// longestName is how long an identifier may be on every engine: PostgreSQL cuts at 63 bytes, MySQL refuses above 64.
const longestName = 63

// IndexName is what an index is called in the database, unquoted: with a prefix of ours, and shortened to what every engine takes.
func IndexName(index query.Index) string {
	name := "durabench_" + index.Name
	if len(name) <= longestName {
		return name
	}
	hash := fnv.New64a()
	hash.Write([]byte(name))
	return fmt.Sprintf("%s_%016x", name[:longestName-17], hash.Sum64())
}

// IndexKeys renders the columns of an ordered index: a column by its name, a nested value as an expression in parentheses. It is the expression
// that conditions have, or else no server would see that the index serves them.
func IndexKeys(d Dialect, table Table, index query.Index) (keys []string, err error) {
	if len(index.Paths) == 0 {
		return nil, fmt.Errorf("index %s: no columns", index.Name)
	}
	for _, path := range index.Paths {
		c, err := table.Column(path)
		if err != nil {
			return nil, fmt.Errorf("index %s: %w", index.Name, err)
		}
		if kind := c.Field.Kind; kind == corpus.Array || kind == corpus.Object || kind == corpus.Vector {
			return nil, fmt.Errorf("index %s: %w", index.Name, unsupported("an ordered index is on scalars: column %s is of kind %s", path, kind))
		}
		if !c.Nested() {
			keys = append(keys, d.Quote(c.Root.Name))
			continue
		}
		value, err := d.Value(c)
		if err != nil {
			return nil, fmt.Errorf("index %s: %w", index.Name, err)
		}
		keys = append(keys, "("+value+")")
	}
	return keys, nil
}
