package postgres

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/sqlrender"
)

// accessMethod is how the name of an index type may look.
var accessMethod = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// CanIndex says which kinds of index PostgreSQL has.
func (d *database) CanIndex(index query.Index) error {
	if index.Raw != "" && !accessMethod.MatchString(index.Raw) {
		return drivers.Unsupported{Why: fmt.Sprintf("%q is not the name of an index type of PostgreSQL", index.Raw)}
	}
	switch index.Kind {
	case query.Ordered:
		return nil
	case query.Nearest:
		return canNearest(index)
	case query.Elements, query.FullText:
		if index.Unique {
			return drivers.Unsupported{Why: "PostgreSQL has no unique GIN index"}
		}
		return nil
	case query.CountAll:
		return drivers.Unsupported{Why: "PostgreSQL keeps no number of rows: which rows count differs from one transaction to another"}
	}
	return drivers.Unsupported{Why: fmt.Sprintf("PostgreSQL has no index of kind %q", index.Kind)}
}

// indexSQL is the statement that builds the index. Elements and words are in a GIN index of their column alone; further columns are left out.
func (d *database) indexSQL(index query.Index) (string, error) {
	if len(index.Paths) == 0 {
		return "", fmt.Errorf("index %s: no columns", index.Name)
	}
	unique, method, keys := "", index.Raw, []string(nil)
	if index.Unique {
		unique = "UNIQUE "
	}
	c, err := d.scanTable().Column(index.Paths[0])
	if err != nil {
		return "", fmt.Errorf("index %s: %w", index.Name, err)
	}
	switch index.Kind {
	case query.Nearest:
		nearest, err := d.nearestSQL(index)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("CREATE INDEX %s ON %s USING %s", quote(sqlrender.IndexName(index)), tableName, nearest), nil
	case query.Elements:
		if c.Field.Kind != corpus.Array {
			return "", fmt.Errorf("index %s: column %s is of kind %s, not an array", index.Name, c.Path, c.Field.Kind)
		}
		method, keys = "gin", []string{"(" + document(c, "->") + ") jsonb_path_ops"}
	case query.FullText:
		words, err := dialect{}.wordsOf(c)
		if err != nil || c.Field.Kind != corpus.String {
			return "", fmt.Errorf("index %s: column %s is of kind %s, not a text: %w", index.Name, c.Path, c.Field.Kind, err)
		}
		if index.Own {
			// crud-bench's conditions look for English words, and an index serves only the expression that it is on.
			value, err := dialect{}.Value(c)
			if err != nil {
				return "", fmt.Errorf("index %s: %w", index.Name, err)
			}
			words = "to_tsvector('english', " + value + ")"
		}
		method, keys = "gin", []string{words}
	default:
		if keys, err = sqlrender.IndexKeys(dialect{}, d.scanTable(), index); err != nil {
			return "", err
		}
	}
	if method == "" {
		method = "btree"
	}
	return fmt.Sprintf("CREATE %sINDEX %s ON %s USING %s (%s)", unique, quote(sqlrender.IndexName(index)), tableName, method, strings.Join(keys, ", ")), nil
}

// CreateIndex builds the index, which is whole when the statement returns.
func (d *database) CreateIndex(ctx context.Context, index query.Index) error {
	if err := d.CanIndex(index); err != nil {
		return err
	}
	sql, err := d.indexSQL(index)
	if err != nil {
		return err
	}
	delete(d.notices, index.Name)
	notice := func(text string) { d.notices[index.Name] = text } // such as that a graph outgrows maintenance_work_mem
	return d.heeding(ctx, "create index "+index.Name, notice, func(conn *pgconn.PgConn) error {
		_, err := conn.Exec(ctx, sql).ReadAll()
		switch code := codeOf(err); code {
		case "42P07": // a relation of the name
			return drivers.ErrExists
		case uniqueViolation:
			if constraintOf(err) == "pg_class_relname_nsp_index" { // the name was taken by a build that was under way, for whose end this one waited
				return drivers.ErrExists
			}
			return fmt.Errorf("rows are equal that a unique index is to tell apart: %w", err)
		case undefinedObject, "0A000", "54000": // no such type or operator class, feature not supported, a row too large for the index
			return drivers.Unsupported{Why: err.Error()}
		}
		return err
	})
}

// IndexState looks the index up in the catalogue.
func (d *database) IndexState(ctx context.Context, index query.Index) (state drivers.IndexState, err error) {
	state.How = "pg_index.indisvalid: CREATE INDEX returns when the index is whole"
	err = d.control(ctx, "state of index "+index.Name, func(conn *pgconn.PgConn) error {
		rows, err := ask(ctx, conn, fmt.Sprintf("SELECT i.indisvalid AND i.indisready, pg_relation_size(c.oid) FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid "+
			"JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = '%s' AND c.relname = '%s'", schemaName, sqlrender.IndexName(index)))
		if err != nil || len(rows) == 0 {
			return err
		}
		state.Exists, state.Ready, state.Detail = true, rows[0][0] == "t", d.notices[index.Name]
		state.Bytes, err = strconv.ParseInt(rows[0][1], 10, 64)
		return err
	})
	return state, err
}

// DropIndex removes the index.
func (d *database) DropIndex(ctx context.Context, index query.Index) error {
	return d.control(ctx, "drop index "+index.Name, func(conn *pgconn.PgConn) error {
		_, err := conn.Exec(ctx, "DROP INDEX "+schemaName+"."+quote(sqlrender.IndexName(index))).ReadAll()
		if code := codeOf(err); code == undefinedObject || code == "3F000" { // no such index, no such schema
			return drivers.ErrNotFound
		}
		return err
	})
}

// Analyze gathers statistics. It vacuums too, as autovacuum would do sooner or later in the middle of a leg: index-only scans depend on it.
func (d *database) Analyze(ctx context.Context) error {
	return d.control(ctx, "analyze", func(conn *pgconn.PgConn) error {
		_, err := conn.Exec(ctx, "VACUUM (ANALYZE) "+tableName).ReadAll()
		return err
	})
}

var (
	_ drivers.Indexer  = (*database)(nil)
	_ drivers.Analyzer = (*database)(nil)
)
