package mysqlbase

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/sqlrender"
)

// Error numbers of statements about indexes.
const (
	errorColumnExists  = 1060
	errorIndexExists   = 1061
	errorNoTable       = 1146
	errorKeyTooLong    = 1071
	errorNoIndex       = 1091
	errorNoWords       = 1191 // no full-text index for the columns of a MATCH
	errorKeyNeedsParts = 1170 // a text or binary type without a length in an index
	errorNotSupported  = 1235
	errorNoMultiValues = 3905 // values that an index of several per row does not take
)

// CanIndex says which kinds of index the product has.
func (d *database) CanIndex(index query.Index) error {
	title := d.product.Title
	switch index.Kind {
	case query.Ordered:
		if index.Raw != "" && !strings.EqualFold(index.Raw, "btree") {
			return drivers.Unsupported{Why: fmt.Sprintf("InnoDB has no index type %q: its ordered indexes are B-trees", index.Raw)}
		}
		return nil
	case query.FullText:
		return nil
	case query.Elements:
		if d.product.MariaDB {
			return drivers.Unsupported{Why: "MariaDB has no index on the elements of an array: a row has one entry in an index"}
		}
		return nil
	case query.Nearest:
		return d.product.canNearest(index)
	case query.CountAll:
		return drivers.Unsupported{Why: "InnoDB keeps no number of rows: which rows count differs from one transaction to another"}
	}
	return drivers.Unsupported{Why: fmt.Sprintf("%s has no index of kind %q", title, index.Kind)}
}

// build is what makes an index: generated columns first, in SQL by their names, and then the index itself.
type build struct {
	kind string // "", "UNIQUE ", "FULLTEXT " or "VECTOR "
	keys []string
	with string // what follows the columns
	made map[string]string
}

// plan plans the build of an index.
func (d *database) plan(index query.Index) (b build, err error) {
	if len(index.Paths) == 0 {
		return b, fmt.Errorf("no columns")
	}
	b.made = make(map[string]string)
	for i, path := range index.Paths {
		c, err := d.scanTable().Column(path)
		if err != nil {
			return b, err
		}
		switch {
		case index.Kind == query.Nearest:
			err = d.planNearest(&b, c, index.Vector)
		case index.Kind == query.FullText:
			err = d.planWords(&b, c)
		case index.Kind == query.Elements && i == 0:
			err = d.planElements(&b, c)
		default:
			err = d.planOrdered(&b, c, index.Unique)
		}
		if err != nil {
			return b, err
		}
	}
	if index.Unique {
		b.kind = "UNIQUE "
	}
	return b, nil
}

// planOrdered adds a column of an ordered index.
func (d *database) planOrdered(b *build, c sqlrender.Column, unique bool) (err error) {
	if kind := c.Field.Kind; kind == corpus.Array || kind == corpus.Object || kind == corpus.Vector {
		return drivers.Unsupported{Why: fmt.Sprintf("an ordered index is on single values: %s is of kind %s", c.Path, kind)}
	}
	if c.Nested() {
		name := valueColumn(c.Path)
		b.keys = append(b.keys, quote(name))
		b.made[name], err = d.dialect().valueSQL(c)
		return err
	}
	key := quote(c.Root.Name)
	if at := slices.IndexFunc(d.schema.columns, func(column column) bool { return column.field.Name == c.Root.Name }); at >= 0 && !d.schema.columns[at].inline {
		// The index has the beginnings of the values: it finds them, but cannot order them or tell them apart.
		if unique {
			return drivers.Unsupported{Why: fmt.Sprintf("%s has values of up to %d bytes, and a unique index takes up to %d", c.Path, c.Field.MaxLen, maxInline)}
		}
		key += fmt.Sprintf("(%d)", maxInline)
	}
	b.keys = append(b.keys, key)
	return nil
}

// planWords adds the words of a text.
func (d *database) planWords(b *build, c sqlrender.Column) (err error) {
	if c.Field.Kind != corpus.String {
		return drivers.Unsupported{Why: fmt.Sprintf("a full-text index is on texts: %s is of kind %s", c.Path, c.Field.Kind)}
	}
	b.kind = "FULLTEXT "
	name := wordsColumn(c)
	b.keys = append(b.keys, quote(name))
	if name != c.Root.Name {
		b.made[name], err = d.dialect().wordsSQL(c)
	}
	return err
}

// planElements adds the elements of an array: a multi-valued index.
func (d *database) planElements(b *build, c sqlrender.Column) error {
	if c.Field.Kind != corpus.Array || len(c.Field.Elems) == 0 {
		return drivers.Unsupported{Why: fmt.Sprintf("an index on elements is on an array: %s is of kind %s", c.Path, c.Field.Kind)}
	}
	kind, longest := c.Field.Elems[0].Kind, 0
	for i := range c.Field.Elems {
		if c.Field.Elems[i].Kind != kind {
			return drivers.Unsupported{Why: fmt.Sprintf("a multi-valued index is on values of one kind: %s has elements of kinds %s and %s", c.Path, kind, c.Field.Elems[i].Kind)}
		}
		longest = max(longest, c.Field.Elems[i].MaxLen)
	}
	sql := ""
	switch kind {
	case corpus.Int:
		sql = "SIGNED"
	case corpus.Float:
		sql = "DOUBLE"
	case corpus.String:
		sql = fmt.Sprintf("CHAR(%d)", max(longest, 1))
	case corpus.Bytes:
		sql = fmt.Sprintf("CHAR(%d)", (longest+2)/3*4)
	case corpus.Decimal:
		sql = fmt.Sprintf("CHAR(%d)", decimalLength)
	case corpus.UUID:
		sql = fmt.Sprintf("CHAR(%d)", uuidLength)
	case corpus.DateTime:
		sql = fmt.Sprintf("CHAR(%d)", momentLength)
	default:
		return drivers.Unsupported{Why: fmt.Sprintf("a multi-valued index does not take elements of kind %s, as %s has", kind, c.Path)}
	}
	b.keys = append(b.keys, fmt.Sprintf("(CAST(%s AS %s ARRAY))", d.dialect().array(c), sql))
	return nil
}

// cleanTimeout bounds the removal of generated columns after a build that failed. What it cannot remove, the next DropIndex does.
const cleanTimeout = 10 * time.Second

// awaitPause is the time between two looks at a connection that was killed.
const awaitPause = 10 * time.Millisecond

// CreateIndex adds the generated columns that the index needs and builds it. It is whole when the statement returns. A build that fails leaves none of the
// columns, also one whose context ends, so that the next build has to add them again.
func (d *database) CreateIndex(ctx context.Context, index query.Index) error {
	if err := d.CanIndex(index); err != nil {
		return err
	}
	plan, err := d.plan(index)
	if err != nil {
		return fmt.Errorf("index %s: %w", index.Name, err)
	}
	adding := false
	err = d.change(ctx, "create index "+index.Name, func(c *controller) error {
		if there, err := d.lookUp(c, index); err != nil {
			return err
		} else if there {
			return drivers.ErrExists
		}
		for name, sql := range plan.made {
			adding = true
			_, err := c.query(fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s %s", d.table(), quote(name), sql))
			if err != nil && numberOf(err) != errorColumnExists { // it exists where another index is on it too
				return err
			}
		}
		_, err := c.query(fmt.Sprintf("CREATE %sINDEX %s ON %s (%s)%s", plan.kind, quote(sqlrender.IndexName(index)), d.table(), strings.Join(plan.keys, ", "), plan.with))
		return refusal(err)
	})
	if err == nil || !adding {
		return err
	}
	fresh, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
	defer cancel()
	if cleaning := d.change(fresh, "clean up", d.dropUnused); cleaning != nil {
		return fmt.Errorf("%w; and a column that was made for it may be left: %v", err, cleaning)
	}
	return err
}

// refusal says what the server's refusal of an index means.
func refusal(err error) error {
	switch numberOf(err) {
	case errorIndexExists:
		return drivers.ErrExists
	case errorDuplicate:
		return fmt.Errorf("rows are equal that a unique index is to tell apart: %w", err)
	case errorKeyTooLong, errorKeyNeedsParts, errorNotSupported, errorNoMultiValues:
		return drivers.Unsupported{Why: err.Error()}
	}
	return err
}

// change is control for statements that take long: when the context ends, the server is told to give them up, and change returns when it has, or after
// abandonTimeout.
func (d *database) change(ctx context.Context, what string, do func(*controller) error) error {
	id := ""
	err := d.control(ctx, what, func(c *controller) error {
		rows, err := c.query("SELECT CONNECTION_ID()")
		if err != nil {
			return err
		}
		id = rows[0][0]
		return do(c)
	})
	if ctx.Err() != nil && id != "" {
		d.kill(id)
		d.await(id)
	}
	return err
}

// await returns when the server has ended a connection that was killed, or after abandonTimeout: until then its statement may still change the table.
func (d *database) await(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), abandonTimeout)
	defer cancel()
	_ = d.control(ctx, "wait for the end of a statement", func(c *controller) error {
		for {
			rows, err := c.query("SELECT 1 FROM information_schema.processlist WHERE id = " + id)
			if err != nil || len(rows) == 0 {
				return err
			}
			time.Sleep(awaitPause)
		}
	})
}

// lookUp tells whether the index is there.
func (d *database) lookUp(c *controller, index query.Index) (bool, error) {
	rows, err := c.query(fmt.Sprintf("SELECT 1 FROM information_schema.statistics WHERE table_schema = '%s' AND table_name = '%s' AND index_name = '%s' LIMIT 1",
		d.endpoint.database, drivers.Table, sqlrender.IndexName(index)))
	return len(rows) > 0, err
}

// IndexState looks the index up in the catalogue.
func (d *database) IndexState(ctx context.Context, index query.Index) (state drivers.IndexState, err error) {
	state.How = "information_schema.statistics: CREATE INDEX returns when the index is whole"
	err = d.control(ctx, "state of index "+index.Name, func(c *controller) error {
		there, err := d.lookUp(c, index)
		if err != nil || !there {
			return err
		}
		state.Exists, state.Ready, state.Detail = true, true, unused(index)
		// Whoever may not read the statistics does not know the size, which is no reason to fail.
		if bytes, err := d.indexBytes(c, index); err == nil {
			state.Bytes = bytes
		} else {
			d.logger.Debug("size of an index is not known", "index", index.Name, "error", err)
		}
		return nil
	})
	return state, err
}

// indexBytes is the size of an index: that of its pages, of full text that of the files of its words.
func (d *database) indexBytes(c *controller, index query.Index) (int64, error) {
	name := sqlrender.IndexName(index)
	sql := fmt.Sprintf("SELECT stat_value * @@innodb_page_size FROM mysql.innodb_index_stats WHERE database_name = '%s' AND table_name = '%s' AND index_name = '%s' AND stat_name = 'size'",
		d.endpoint.database, drivers.Table, name)
	if index.Kind == query.FullText {
		tables, indexes, spaces := "INNODB_TABLES", "INNODB_INDEXES", "INNODB_TABLESPACES"
		if d.product.MariaDB {
			tables, indexes, spaces = "INNODB_SYS_TABLES", "INNODB_SYS_INDEXES", "INNODB_SYS_TABLESPACES"
		}
		// The files are named after the numbers of the table and of the index, in hexadecimal.
		sql = fmt.Sprintf("SELECT SUM(s.file_size) FROM information_schema.%s t JOIN information_schema.%s i ON i.table_id = t.table_id "+
			"JOIN information_schema.%s s ON LOWER(s.name) LIKE CONCAT('%%fts\\_', LOWER(LPAD(HEX(t.table_id), 16, '0')), '\\_', LOWER(LPAD(HEX(i.index_id), 16, '0')), '\\_index\\_%%') "+
			"WHERE t.name = '%s/%s' AND i.name = '%s'", tables, indexes, spaces, d.endpoint.database, drivers.Table, name)
	}
	if index.Kind == query.Nearest {
		// A table has one vector index, in a file of its own that is named after the table and the number of the index.
		sql = fmt.Sprintf("SELECT SUM(file_size) FROM information_schema.INNODB_SYS_TABLESPACES WHERE name LIKE '%s/%s#i#%%'", d.endpoint.database, drivers.Table)
	}
	rows, err := c.query(sql)
	if err != nil || len(rows) == 0 || rows[0][0] == "" {
		return 0, err
	}
	return strconv.ParseInt(rows[0][0], 10, 64)
}

// DropIndex removes the index, and the generated columns that no index is on: also when the index is not there, because a build that was cut off with its
// process leaves columns without one.
func (d *database) DropIndex(ctx context.Context, index query.Index) error {
	return d.change(ctx, "drop index "+index.Name, func(c *controller) error {
		_, err := c.query(fmt.Sprintf("DROP INDEX %s ON %s", quote(sqlrender.IndexName(index)), d.table()))
		number := numberOf(err)
		if number == errorNoTable {
			return drivers.ErrNotFound
		}
		if err != nil && number != errorNoIndex {
			return err
		}
		if err := d.dropUnused(c); err != nil {
			return err
		}
		if number == errorNoIndex {
			return drivers.ErrNotFound
		}
		return nil
	})
}

// dropUnused removes the generated columns that no index is on.
func (d *database) dropUnused(c *controller) error {
	used, err := d.generatedNow(c.conn)
	if err != nil {
		return err
	}
	rows, err := c.query(fmt.Sprintf("SELECT column_name FROM information_schema.columns WHERE table_schema = '%s' AND table_name = '%s' AND (column_name LIKE '%s' OR column_name LIKE '%s')",
		d.endpoint.database, drivers.Table, likePrefix(valuePrefix), likePrefix(wordsPrefix)))
	if err != nil {
		return err
	}
	for _, row := range rows {
		if used.has(row[0]) {
			continue
		}
		if _, err := c.query(fmt.Sprintf("ALTER TABLE %s DROP COLUMN %s", d.table(), quote(row[0]))); err != nil {
			return err
		}
	}
	return nil
}

// likePrefix is the pattern of names that begin so.
func likePrefix(prefix string) string { return strings.ReplaceAll(prefix, "_", `\_`) + "%" }

// Analyze has the server bring its statistics up to date, of the table and of its indexes.
func (d *database) Analyze(ctx context.Context) error {
	return d.change(ctx, "analyze "+d.table(), func(c *controller) error {
		rows, err := c.query("ANALYZE TABLE " + d.table())
		if err != nil {
			return err
		}
		for _, row := range rows { // table, operation, type of message, message
			if len(row) == 4 && strings.EqualFold(row[2], "error") {
				return fmt.Errorf("the server says: %s", row[3])
			}
		}
		return nil
	})
}

var (
	_ drivers.Indexer  = (*database)(nil)
	_ drivers.Analyzer = (*database)(nil)
)
