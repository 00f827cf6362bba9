//go:build cgo

package sqlite

/*
// SQLite itself is compiled into the binary by github.com/mattn/go-sqlite3; here are only calls into it. The symbols are found when the
// program is linked, so the linking of this package alone must not look for them.
#cgo linux LDFLAGS: -Wl,--unresolved-symbols=ignore-in-object-files
#cgo darwin LDFLAGS: -Wl,-undefined,dynamic_lookup
#cgo noescape durabench_run
#cgo nocallback durabench_run
#cgo noescape durabench_fetch
#cgo nocallback durabench_fetch
#cgo noescape durabench_cells
#cgo nocallback durabench_cells
#cgo noescape durabench_receive
#cgo nocallback durabench_receive

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;

extern const char *sqlite3_libversion(void);
extern const char *sqlite3_sourceid(void);
extern int sqlite3_open_v2(const char *, sqlite3 **, int, const char *);
extern int sqlite3_extended_result_codes(sqlite3 *, int);
extern int sqlite3_close_v2(sqlite3 *);
extern int sqlite3_exec(sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *, char **);
extern int sqlite3_prepare_v3(sqlite3 *, const char *, int, unsigned, sqlite3_stmt **, const char **);
extern int sqlite3_finalize(sqlite3_stmt *);
extern int sqlite3_step(sqlite3_stmt *);
extern int sqlite3_reset(sqlite3_stmt *);
extern int sqlite3_changes(sqlite3 *);
extern int sqlite3_bind_int64(sqlite3_stmt *, int, long long);
extern int sqlite3_bind_double(sqlite3_stmt *, int, double);
extern int sqlite3_bind_text(sqlite3_stmt *, int, const char *, int, void (*)(void *));
extern int sqlite3_bind_blob(sqlite3_stmt *, int, const void *, int, void (*)(void *));
extern int sqlite3_column_count(sqlite3_stmt *);
extern int sqlite3_column_type(sqlite3_stmt *, int);
extern long long sqlite3_column_int64(sqlite3_stmt *, int);
extern double sqlite3_column_double(sqlite3_stmt *, int);
extern const void *sqlite3_column_blob(sqlite3_stmt *, int);
extern const unsigned char *sqlite3_column_text(sqlite3_stmt *, int);
extern int sqlite3_column_bytes(sqlite3_stmt *, int);
extern const char *sqlite3_errmsg(sqlite3 *);
extern void sqlite3_interrupt(sqlite3 *);
extern int sqlite3_compileoption_used(const char *);

typedef struct { int code; int changes; int64_t size; } durabench_outcome;

typedef void (*durabench_destructor)(void *);

// Bind the parameters where they lie, or copies of them. They may stay where they lie when the statement is reset before the caller goes on,
// and bound anew before it is stepped again.
static int durabench_bind_as(sqlite3_stmt *s, const char *params, int64_t length, durabench_destructor kept) {
	int n = 0;
	for (int64_t at = 0; at < length;) {
		char tag = params[at++];
		int code;
		n++;
		if (tag == 1 || tag == 2) {
			int64_t whole;
			double real;
			memcpy(&whole, params + at, 8);
			memcpy(&real, params + at, 8);
			at += 8;
			code = tag == 1 ? sqlite3_bind_int64(s, n, whole) : sqlite3_bind_double(s, n, real);
		} else {
			uint32_t size;
			memcpy(&size, params + at, 4);
			at += 4;
			code = tag == 3 ? sqlite3_bind_text(s, n, params + at, (int)size, kept) : sqlite3_bind_blob(s, n, params + at, (int)size, kept);
			at += size;
		}
		if (code != 0) {
			return code;
		}
	}
	return 0;
}

static int durabench_bind(sqlite3_stmt *s, const char *params, int64_t length) { return durabench_bind_as(s, params, length, 0); }

static int durabench_bind_copies(sqlite3_stmt *s, const char *params, int64_t length) {
	return durabench_bind_as(s, params, length, (durabench_destructor)-1);
}

static durabench_outcome durabench_run(sqlite3 *db, sqlite3_stmt *s, const char *params, int64_t length) {
	durabench_outcome out = {0, 0, 0};
	out.code = durabench_bind(s, params, length);
	if (out.code != 0) {
		return out;
	}
	out.code = sqlite3_step(s);
	if (out.code == 101) {
		out.changes = sqlite3_changes(db);
	}
	int reset = sqlite3_reset(s);
	if (out.code == 101 && reset != 0) {
		out.code = reset;
	}
	return out;
}

// Copy the cells of the current row behind the first bytes as far as they fit, and note where each ends; return where the last one ends.
static int64_t durabench_cells(sqlite3_stmt *s, char *bytes, int64_t at, int64_t room, int64_t *ends, int columns) {
	for (int i = 0; i < columns; i++) {
		int64_t whole;
		double real;
		const void *from;
		int64_t size = 8;
		switch (sqlite3_column_type(s, i)) {
		case 1:
			whole = sqlite3_column_int64(s, i);
			from = &whole;
			break;
		case 2:
			real = sqlite3_column_double(s, i);
			from = &real;
			break;
		case 5:
			ends[i] = -1;
			continue;
		default:
			from = sqlite3_column_blob(s, i);
			size = sqlite3_column_bytes(s, i);
		}
		if (size > 0 && at + size <= room) {
			memcpy(bytes + at, from, size);
		}
		at += size;
		ends[i] = at;
	}
	return at;
}

// Fetch one row. When it does not fit, the statement stays on the row for durabench_cells.
static durabench_outcome durabench_fetch(sqlite3_stmt *s, const char *params, int64_t length, char *bytes, int64_t room, int64_t *ends, int columns) {
	durabench_outcome out = {0, 0, 0};
	out.code = durabench_bind(s, params, length);
	if (out.code != 0) {
		return out;
	}
	out.code = sqlite3_step(s);
	if (out.code == 100) {
		out.size = durabench_cells(s, bytes, 0, room, ends, columns);
		if (out.size > room) {
			return out;
		}
	}
	int reset = sqlite3_reset(s);
	if (out.code == 101 && reset != 0) {
		out.code = reset;
	}
	return out;
}

typedef struct { int code; int rows; int pending; int64_t size; } durabench_chunk;

// Receive rows behind the first bytes until there are enough, or the next one does not fit: then it is pending, and the size is what it needs.
static durabench_chunk durabench_receive(sqlite3_stmt *s, int pending, int most, char *bytes, int64_t at, int64_t room, int64_t *ends, int columns) {
	durabench_chunk out = {100, 0, 0, at};
	while (out.rows < most) {
		if (!pending) {
			out.code = sqlite3_step(s);
		}
		pending = 0;
		if (out.code != 100) {
			return out;
		}
		int64_t end = durabench_cells(s, bytes, at, room, ends + (int64_t)out.rows * columns, columns);
		out.size = end;
		if (end > room) {
			out.pending = 1;
			return out;
		}
		at = end;
		out.rows++;
	}
	return out;
}
*/
import "C"

import (
	"slices"
	"unsafe"

	_ "github.com/mattn/go-sqlite3" // compiles SQLite into the binary

	"github.com/durabench/durabench/drivers"
)

// library says which build of SQLite this is.
const library = "SQLite's C code by cgo (github.com/mattn/go-sqlite3)"

func libraryVersion() string { return C.GoString(C.sqlite3_libversion()) }

func librarySource() string { return C.GoString(C.sqlite3_sourceid()) }

// compiledWith tells whether the library has an option that is chosen when it is compiled.
func compiledWith(option string) bool {
	name := C.CString(option)
	defer C.free(unsafe.Pointer(name))
	return C.sqlite3_compileoption_used(name) != 0
}

type connection struct {
	db *C.sqlite3
}

// openConnection opens the file, which is made when it is not there. SQLite's own lock on the connection is left out (NOMUTEX): one goroutine
// at a time uses it.
func openConnection(path string) (*connection, error) {
	const readWrite, create, noMutex = 0x2, 0x4, 0x8000
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	c := &connection{}
	if code := C.sqlite3_open_v2(name, &c.db, readWrite|create|noMutex, nil); code != codeOK {
		err := c.fault(code)
		c.close()
		return nil, err
	}
	C.sqlite3_extended_result_codes(c.db, 1)
	return c, nil
}

// fault describes the last failed call on the connection.
func (c *connection) fault(code C.int) error {
	return newFault(int(code), C.GoString(C.sqlite3_errmsg(c.db)))
}

func (c *connection) close() error {
	// A connection with unfinished statements would live on unseen, so statements are finalized before; then this does not fail.
	if code := C.sqlite3_close_v2(c.db); code != codeOK {
		return c.fault(code)
	}
	c.db = nil
	return nil
}

// execute runs statements without parameters and drops what they return.
func (c *connection) execute(sql string) error {
	text := C.CString(sql)
	defer C.free(unsafe.Pointer(text))
	if code := C.sqlite3_exec(c.db, text, nil, nil, nil); code != codeOK {
		return c.fault(code)
	}
	return nil
}

// text returns the first column of the first row, "" when there is none.
func (c *connection) text(sql string) (string, error) {
	s, err := c.prepare(sql)
	if err != nil {
		return "", err
	}
	defer s.finalize()
	switch code := C.sqlite3_step(s.s); code {
	case codeRow:
		return C.GoString((*C.char)(unsafe.Pointer(C.sqlite3_column_text(s.s, 0)))), nil
	case codeDone:
		return "", nil
	default:
		return "", c.fault(code)
	}
}

// interrupt makes the statement that runs on the connection stop with codeInterrupt. It is the one call that another goroutine may make.
func (c *connection) interrupt() { C.sqlite3_interrupt(c.db) }

type statement struct {
	on      *connection
	s       *C.sqlite3_stmt
	columns int
}

// prepare compiles a statement that will be run many times.
func (c *connection) prepare(sql string) (*statement, error) {
	const persistent = 0x1
	text := C.CString(sql)
	defer C.free(unsafe.Pointer(text))
	s := &statement{on: c}
	if code := C.sqlite3_prepare_v3(c.db, text, -1, persistent, &s.s, nil); code != codeOK {
		return nil, c.fault(code)
	}
	s.columns = int(C.sqlite3_column_count(s.s))
	return s, nil
}

func (s *statement) finalize() { C.sqlite3_finalize(s.s) }

// run runs a statement that returns no rows and tells how many it changed.
func (s *statement) run(params []byte) (changes int, err error) {
	out := C.durabench_run(s.on.db, s.s, (*C.char)(unsafe.Pointer(unsafe.SliceData(params))), C.int64_t(len(params)))
	if out.code != codeDone {
		return 0, s.on.fault(out.code)
	}
	return int(out.changes), nil
}

// fetch runs a statement that returns at most one row and receives it in rec: integers and reals as eight bytes, texts and blobs as
// they are.
func (s *statement) fetch(params []byte, rec *drivers.Record) (found bool, err error) {
	if cap(rec.Ends) < s.columns {
		rec.Ends = make([]int, s.columns)
	}
	rec.Ends = rec.Ends[:s.columns]
	out := C.durabench_fetch(s.s, (*C.char)(unsafe.Pointer(unsafe.SliceData(params))), C.int64_t(len(params)),
		(*C.char)(unsafe.Pointer(unsafe.SliceData(rec.Bytes))), C.int64_t(cap(rec.Bytes)), s.ends(rec), C.int(s.columns))
	switch out.code {
	case codeRow:
		if int(out.size) > cap(rec.Bytes) {
			// Room to spare, so that rows which grow by and by do not each come here.
			rec.Bytes = make([]byte, 0, out.size+out.size/4)
			C.durabench_cells(s.s, (*C.char)(unsafe.Pointer(unsafe.SliceData(rec.Bytes))), 0, C.int64_t(cap(rec.Bytes)), s.ends(rec), C.int(s.columns))
			C.sqlite3_reset(s.s)
		}
		rec.Bytes = rec.Bytes[:out.size]
		return true, nil
	case codeDone:
		rec.Reset()
		return false, nil
	}
	rec.Reset()
	return false, s.on.fault(out.code)
}

// ends is where the library notes the ends of cells: int has 64 bits on all we build for.
func (s *statement) ends(rec *drivers.Record) *C.int64_t {
	return (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(rec.Ends)))
}

// bind binds copies of the parameters, for a statement that receives rows. They stay bound when it is reset.
func (s *statement) bind(params []byte) error {
	if code := C.durabench_bind_copies(s.s, (*C.char)(unsafe.Pointer(unsafe.SliceData(params))), C.int64_t(len(params))); code != codeOK {
		return s.on.fault(code)
	}
	return nil
}

// receive appends up to most more rows to the answer, cells as fetch has them. With fewer than most the statement is
// done, and has to be reset before it is stepped again: it would begin anew.
func (s *statement) receive(answer *drivers.Answer, most int) (rows int, err error) {
	answer.Ends = slices.Grow(answer.Ends, most*s.columns)
	for pending := C.int(0); ; {
		at, first := len(answer.Bytes), len(answer.Ends)
		out := C.durabench_receive(s.s, pending, C.int(most-rows), (*C.char)(unsafe.Pointer(unsafe.SliceData(answer.Bytes))), C.int64_t(at), C.int64_t(cap(answer.Bytes)),
			(*C.int64_t)(unsafe.Pointer(unsafe.SliceData(answer.Ends[first:cap(answer.Ends)]))), C.int(s.columns))
		rows += int(out.rows)
		answer.Ends = answer.Ends[:first+int(out.rows)*s.columns]
		answer.Bytes = answer.Bytes[:lastEnd(answer.Ends[first:], at)]
		if out.pending != 0 {
			answer.Bytes = slices.Grow(answer.Bytes, max(int(out.size)-len(answer.Bytes), leastRoom))
			pending = 1
			continue
		}
		if out.code != codeRow && out.code != codeDone {
			return rows, s.on.fault(out.code)
		}
		return rows, nil
	}
}

func (s *statement) reset() { C.sqlite3_reset(s.s) }
