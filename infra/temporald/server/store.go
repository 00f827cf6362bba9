package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/headers"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	sqliteschema "go.temporal.io/server/schema/sqlite"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Version is the version of the Temporal server inside.
const Version = headers.ServerVersion

// DBName is the name of the database file. There is no migration of SQLite
// schemas, so a file belongs to one minor version of the server and says so.
func DBName() string { return "temporal-" + minor() + ".db" }

// minor is the server's version without the patch level: "1.32".
func minor() string {
	parts := strings.SplitN(Version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// schemaMark is what a file of this server has in SQLite's user_version: 1032
// for server 1.32. Files made by other programs have 0.
func schemaMark() int {
	major, rest, _ := strings.Cut(minor(), ".")
	a, _ := strconv.Atoi(major)
	b, _ := strconv.Atoi(rest)
	return a*1000 + b
}

// lockStore keeps a second server off the same file. The kernel frees the lock
// when the process dies, however it dies.
func lockStore(file string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("create directory of database %s: %w", file, err)
	}
	f, err := os.OpenFile(file+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock database %s: %w", file, err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		_ = f.Close()
		return nil, fmt.Errorf("database %s is in use by another server", file)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock database %s: %w", file, err)
	}
	return f, nil
}

// fileURI escapes a path for SQLite's file: form, in which "?", "#" and "%" have
// meanings of their own.
func fileURI(file string) string { return (&url.URL{Path: file}).EscapedPath() }

// storeConfig is how the server opens the file. WAL with synchronous=normal
// survives the death of the process without an fsync per transaction: this
// server must leave the disk to the database being measured. A power cut may
// cost the last moments of history, never the file.
func storeConfig(file string) *config.SQL {
	return &config.SQL{
		PluginName:   sqlite.PluginName,
		DatabaseName: fileURI(file),
		ConnectAttributes: map[string]string{
			"mode":         "rwc",
			"journal_mode": "wal",
			"synchronous":  "normal",
			"busy_timeout": "10000",
		},
	}
}

// openOwn opens the file apart from the server's own pool, which never closes.
func openOwn(file string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+fileURI(file)+"?mode=rwc&_txlock=immediate&_pragma=busy_timeout=10000")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// prepareStore makes sure that the file has the schema and the namespace.
func prepareStore(ctx context.Context, o Options) error {
	if err := prepareSchema(ctx, o.DB); err != nil {
		return fmt.Errorf("prepare database %s: %w", o.DB, err)
	}
	ns, err := sqliteschema.NewNamespaceConfig(clusterName, o.Namespace, false, o.Attributes)
	if err != nil {
		return fmt.Errorf("configure namespace %s: %w", o.Namespace, err)
	}
	ns.Detail.Config.Retention = durationpb.New(o.Retention)
	// A namespace that exists is left as it is; addAttributes sees to the rest.
	if err := sqliteschema.CreateNamespaces(storeConfig(o.DB), ns); err != nil {
		return fmt.Errorf("create namespace %s in %s: %w", o.Namespace, o.DB, err)
	}
	return nil
}

// prepareSchema creates the schema in an empty or new file, all in one
// transaction: a start that was killed half-way leaves an empty file behind, and
// the next start finds it so.
func prepareSchema(ctx context.Context, file string) error {
	// Histories hold what specs and errors say, so they are the user's alone.
	// SQLite gives its other files the mode of this one.
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	db, err := openOwn(file)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()

	// An interrupt does not break into the transaction, which takes a moment: it
	// would be rolled back behind our back, after the lock is given up.
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()

	var tables, ours, mark int
	err = tx.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE name = 'namespaces') FROM sqlite_master WHERE type = 'table'`).Scan(&tables, &ours)
	if err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	if err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&mark); err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	switch {
	case tables == 0:
	case ours == 0:
		return errors.New("the file holds tables of another program")
	case mark != 0 && mark != schemaMark():
		return fmt.Errorf("the file was made by Temporal server %d.%d and this is %s; SQLite files are not migrated, use another file",
			mark/1000, mark%1000, minor())
	default:
		return nil
	}

	if err := sqliteschema.SetupSchemaOnDB(schemaWriter{ctx: ctx, tx: tx}); err != nil {
		return fmt.Errorf("create schema: %w", err)
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, schemaMark())); err != nil {
		return fmt.Errorf("mark schema version: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("create schema: %w", err)
	}
	return nil
}

// schemaWriter is as much of an AdminDB as setting up a schema needs.
type schemaWriter struct {
	sqlplugin.AdminDB
	ctx context.Context
	tx  *sql.Tx
}

// Exec implements sqlplugin.AdminDB.
func (w schemaWriter) Exec(stmt string, args ...any) error {
	_, err := w.tx.ExecContext(w.ctx, stmt, args...)
	return err
}

// checkpoint folds the write-ahead log into the file, so that the file alone is
// a whole copy of the history. Best effort: the log is as good where it is.
func checkpoint(ctx context.Context, file string) error {
	db, err := openOwn(file)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	return err
}

// warnOfOlder says that the history of earlier server versions stays where it is.
func warnOfOlder(file string, log *slog.Logger) {
	if filepath.Base(file) != DBName() {
		return
	}
	matches, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "temporal-*.db"))
	for _, m := range matches {
		if m != file {
			log.Warn("the history of another server version is not carried over", "file", m, "version", Version)
		}
	}
}
