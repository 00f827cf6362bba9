package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/sqlrender"
)

// How full-text indexes are kept: an FTS5 table without a copy of the texts, with the table's own row numbers, which triggers keep up to date. Its
// tokens are those of query.Tokens.
const (
	wordsPrefix = "durabench_words_" // of the column's name, which is how the table for a path is found
	wordsModule = `fts5(words, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 0 categories 'L* Nd'")`
)

// wordsTable is the full-text table for a path: one path has one at most.
func wordsTable(path query.Path) string { return wordsPrefix + path.String() }

func canMatch() error {
	if !compiledWith("ENABLE_FTS5") {
		return drivers.Unsupported{Why: "this build of SQLite has no FTS5: build durabench with -tags sqlite_fts5, or without cgo"}
	}
	return nil
}

// CanIndex says which kinds of index SQLite has.
func (d *database) CanIndex(index query.Index) error {
	switch index.Kind {
	case query.Ordered:
		if index.Raw != "" && !strings.EqualFold(index.Raw, "btree") {
			return drivers.Unsupported{Why: fmt.Sprintf("SQLite has no index type %q: all but full-text indexes are B-trees", index.Raw)}
		}
		return nil
	case query.FullText:
		return canMatch()
	case query.Elements:
		return drivers.Unsupported{Why: "SQLite has no index on the elements of an array: a row has one entry in an index"}
	case query.CountAll:
		return drivers.Unsupported{Why: "SQLite keeps no number of rows: count(*) goes through the smallest B-tree"}
	}
	return drivers.Unsupported{Why: fmt.Sprintf("SQLite has no index of kind %q", index.Kind)}
}

// CreateIndex builds the index, which is whole when the statement returns.
func (d *database) CreateIndex(ctx context.Context, index query.Index) error {
	if err := d.CanIndex(index); err != nil {
		return err
	}
	statements, err := d.indexSQL(index)
	if err != nil {
		return err
	}
	err = d.build(ctx, func(c *connection) error {
		if there, err := schemaHas(c, indexed(index)); err != nil || there {
			return errors.Join(err, exists(there))
		}
		before, err := usedBytes(c)
		if err != nil {
			return err
		}
		if err := transaction(ctx, c, statements); err != nil {
			if errors.Is(err, drivers.ErrExists) {
				return fmt.Errorf("rows are equal in %s, which a unique index cannot have", paths(index))
			}
			return err
		}
		after, err := usedBytes(c)
		d.sizes[indexed(index)] = after - before
		return err
	})
	if err != nil {
		return fmt.Errorf("create index %s: %w", index.Name, err)
	}
	return nil
}

func exists(there bool) error {
	if there {
		return drivers.ErrExists
	}
	return nil
}

// indexed is the name that tells in the schema whether the index is there.
func indexed(index query.Index) string {
	if index.Kind == query.FullText && len(index.Paths) > 0 {
		return wordsTable(index.Paths[0])
	}
	return sqlrender.IndexName(index)
}

func paths(index query.Index) string {
	texts := make([]string, len(index.Paths))
	for i, path := range index.Paths {
		texts[i] = path.String()
	}
	return strings.Join(texts, ", ")
}

// indexSQL are the statements that build an index.
func (d *database) indexSQL(index query.Index) ([]string, error) {
	table := d.scanTable()
	if index.Kind == query.Ordered {
		keys, err := sqlrender.IndexKeys(assumed, table, index)
		if err != nil {
			return nil, err
		}
		unique := ""
		if index.Unique {
			unique = "UNIQUE "
		}
		return []string{fmt.Sprintf("CREATE %sINDEX %s ON %s (%s)", unique, quote(sqlrender.IndexName(index)), table.Name, strings.Join(keys, ", "))}, nil
	}
	if len(index.Paths) != 1 {
		return nil, fmt.Errorf("index %s: a full-text index is on one column, not on %d", index.Name, len(index.Paths))
	}
	c, err := table.Column(index.Paths[0])
	if err != nil {
		return nil, fmt.Errorf("index %s: %w", index.Name, err)
	}
	if c.Field.Kind != corpus.String {
		return nil, fmt.Errorf("index %s: a full-text index is on texts: column %s is of kind %s", index.Name, c.Path, c.Field.Kind)
	}
	value, err := assumed.Value(c)
	if err != nil {
		return nil, fmt.Errorf("index %s: %w", index.Name, err)
	}
	words, of := quote(wordsTable(c.Path)), func(which string) string {
		return strings.Replace(value, quote(c.Root.Name), which+"."+quote(c.Root.Name), 1)
	}
	insert := fmt.Sprintf("INSERT INTO %s (rowid, words) VALUES (new.rowid, %s);", words, of("new"))
	remove := fmt.Sprintf("DELETE FROM %s WHERE rowid = old.rowid;", words)
	trigger := func(event, body string) string {
		return fmt.Sprintf("CREATE TRIGGER %s AFTER %s ON %s BEGIN %s END", quote(triggerName(c.Path, event)), event, table.Name, body)
	}
	return []string{
		fmt.Sprintf("CREATE VIRTUAL TABLE %s USING %s", words, wordsModule),
		fmt.Sprintf("INSERT INTO %s (rowid, words) SELECT rowid, %s FROM %s", words, value, table.Name),
		trigger("INSERT", insert), trigger("DELETE", remove), trigger("UPDATE", remove+" "+insert),
	}, nil
}

func triggerName(path query.Path, event string) string {
	return wordsTable(path) + "_" + strings.ToLower(event)
}

// IndexState looks the index up in the schema.
func (d *database) IndexState(ctx context.Context, index query.Index) (state drivers.IndexState, err error) {
	state.How = "sqlite_schema: the statement that builds an index returns when it is whole"
	err = d.writer.exclusive(ctx, func(c *connection) error {
		there, err := schemaHas(c, indexed(index))
		state.Exists, state.Ready, state.Bytes = there, there, d.sizes[indexed(index)]
		return err
	})
	if err != nil {
		return state, fmt.Errorf("state of index %s: %w", index.Name, err)
	}
	return state, nil
}

// DropIndex removes the index, for full text the triggers with it.
func (d *database) DropIndex(ctx context.Context, index query.Index) error {
	err := d.build(ctx, func(c *connection) error {
		if there, err := schemaHas(c, indexed(index)); err != nil {
			return err
		} else if !there {
			return drivers.ErrNotFound
		}
		delete(d.sizes, indexed(index))
		if index.Kind != query.FullText {
			return transaction(ctx, c, []string{"DROP INDEX " + quote(sqlrender.IndexName(index))})
		}
		return transaction(ctx, c, dropWords(index.Paths[0].String()))
	})
	if err != nil {
		return fmt.Errorf("drop index %s: %w", index.Name, err)
	}
	return nil
}

// dropWords are the statements that drop the full-text table of a column, named as Path.String does.
func dropWords(column string) []string {
	table := wordsPrefix + column
	return []string{
		"DROP TRIGGER IF EXISTS " + quote(table+"_insert"), "DROP TRIGGER IF EXISTS " + quote(table+"_delete"), "DROP TRIGGER IF EXISTS " + quote(table+"_update"),
		"DROP TABLE " + quote(table),
	}
}

// build runs f, which may take long, on the writer in its turn.
func (d *database) build(ctx context.Context, f func(*connection) error) error {
	return d.writer.exclusive(ctx, func(c *connection) error {
		w := watch{on: c}
		if err := w.begin(ctx); err != nil {
			return err
		}
		err := w.rest(ctx, f(c))
		w.end()
		return err
	})
}

// transaction runs the statements all or none.
func transaction(ctx context.Context, c *connection, statements []string) error {
	err := retry(ctx, func() error { return c.execute("BEGIN IMMEDIATE") })
	if err != nil {
		return err
	}
	for _, sql := range append(statements, "COMMIT") {
		if err = retry(ctx, func() error { return c.execute(sql) }); err != nil {
			// SQLite may have rolled back by itself already; then there is nothing to roll back.
			_ = c.execute("ROLLBACK")
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// schemaHas tells whether a table or an index of the name is there.
func schemaHas(c *connection, name string) (bool, error) {
	found, err := c.text("SELECT count(*) FROM sqlite_schema WHERE type IN ('table', 'index') AND name = '" + strings.ReplaceAll(name, "'", "''") + "'")
	return found != "0", err
}

// usedBytes is how much of the file is in use.
func usedBytes(c *connection) (int64, error) {
	text, err := c.text("SELECT (SELECT page_count FROM pragma_page_count) - (SELECT freelist_count FROM pragma_freelist_count)")
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, err
	}
	text, err = c.text("PRAGMA page_size")
	if err != nil {
		return 0, err
	}
	size, err := strconv.ParseInt(text, 10, 64)
	return pages * size, err
}

// wordsTables are the full-text tables that are there.
func wordsTables(c *connection) ([]string, error) {
	text, err := c.text("SELECT group_concat(name, char(10)) FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%' AND name GLOB '" + wordsPrefix + "*'")
	if text == "" {
		return nil, err
	}
	return strings.Split(text, "\n"), err
}

// dialectOf is the dialect with the full-text tables that the connection sees.
func dialectOf(c *connection) (dialect, error) {
	tables, err := wordsTables(c)
	if err != nil {
		return dialect{}, fmt.Errorf("look for full-text tables: %w", err)
	}
	return dialect{words: func(path query.Path) string {
		if table := wordsTable(path); slices.Contains(tables, table) {
			return table
		}
		return ""
	}}, nil
}

// explanation reads a query plan: its lines are in the last column, and an index is named after the word INDEX, a full-text table before VIRTUAL.
func explanation(plan *drivers.Answer, columns int, name string) (e drivers.Explanation) {
	var lines []string
	start := 0
	for i, end := range plan.Ends {
		if i%columns == columns-1 {
			lines = append(lines, string(plan.Bytes[start:end]))
		}
		if end >= 0 {
			start = end
		}
	}
	e.Text = drivers.CutPlan(strings.Join(lines, "\n"))
	for _, line := range lines {
		if strings.HasSuffix(line, " INDEX "+name) || strings.Contains(line, " INDEX "+name+" ") || strings.HasPrefix(line, "SCAN "+name+" VIRTUAL") {
			e.Uses = true
		}
	}
	return e
}

// Analyze has SQLite count what its planner goes by. Other connections read that only with the schema, so the schema is changed and changed back.
func (d *database) Analyze(ctx context.Context) error {
	err := d.build(ctx, func(c *connection) error {
		return transaction(ctx, c, []string{"ANALYZE", "CREATE TABLE durabench_reload (n)", "DROP TABLE durabench_reload"})
	})
	if err != nil {
		return fmt.Errorf("analyze: %w", err)
	}
	return nil
}

var (
	_ drivers.Indexer  = (*database)(nil)
	_ drivers.Analyzer = (*database)(nil)
)
