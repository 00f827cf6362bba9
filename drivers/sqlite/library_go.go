//go:build !cgo

package sqlite

import (
	"encoding/binary"
	"math"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/durabench/durabench/drivers"
)

// library says which build of SQLite this is.
const library = "SQLite translated to Go (modernc.org/sqlite)"

func libraryVersion() string { return sqlite3.SQLITE_VERSION }

func librarySource() string { return sqlite3.SQLITE_SOURCE_ID }

// compiledWith tells whether the library has an option that is chosen when it is compiled.
func compiledWith(option string) bool {
	tls := libc.NewTLS()
	defer tls.Close()
	name, err := libc.CString(option)
	if err != nil {
		return false
	}
	defer libc.Xfree(tls, name)
	return sqlite3.Xsqlite3_compileoption_used(tls, name) != 0
}

// connection has a thread of the translated C library to itself, and memory of that library's for what goes in: the translated code must
// not be handed Go's own memory.
type connection struct {
	tls  *libc.TLS
	db   uintptr
	room uintptr // holds parameters during a call
	size int
}

// openConnection opens the file, which is made when it is not there. SQLite's own lock on the connection is left out (NOMUTEX): one goroutine
// at a time uses it.
func openConnection(path string) (*connection, error) {
	c := &connection{tls: libc.NewTLS()}
	name, err := libc.CString(path)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(c.tls, name)
	out := libc.Xmalloc(c.tls, 8)
	defer libc.Xfree(c.tls, out)
	code := sqlite3.Xsqlite3_open_v2(c.tls, name, out, sqlite3.SQLITE_OPEN_READWRITE|sqlite3.SQLITE_OPEN_CREATE|sqlite3.SQLITE_OPEN_NOMUTEX, 0)
	c.db = pointer(out)
	if code != codeOK {
		err := c.fault(code)
		c.close()
		return nil, err
	}
	sqlite3.Xsqlite3_extended_result_codes(c.tls, c.db, 1)
	return c, nil
}

// fault describes the last failed call on the connection.
func (c *connection) fault(code int32) error {
	return newFault(int(code), libc.GoString(sqlite3.Xsqlite3_errmsg(c.tls, c.db)))
}

func (c *connection) close() error {
	// A connection with unfinished statements would live on unseen, so statements are finalized before; then this does not fail.
	if code := sqlite3.Xsqlite3_close_v2(c.tls, c.db); code != codeOK {
		return c.fault(code)
	}
	libc.Xfree(c.tls, c.room)
	c.tls.Close()
	*c = connection{}
	return nil
}

// execute runs statements without parameters and drops what they return.
func (c *connection) execute(sql string) error {
	text, err := libc.CString(sql)
	if err != nil {
		return err
	}
	defer libc.Xfree(c.tls, text)
	if code := sqlite3.Xsqlite3_exec(c.tls, c.db, text, 0, 0, 0); code != codeOK {
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
	switch code := sqlite3.Xsqlite3_step(c.tls, s.s); code {
	case codeRow:
		return libc.GoString(sqlite3.Xsqlite3_column_text(c.tls, s.s, 0)), nil
	case codeDone:
		return "", nil
	default:
		return "", c.fault(code)
	}
}

// interrupt makes the statement that runs on the connection stop with codeInterrupt. It is the one call that another goroutine may make, which
// takes a thread of the library of its own.
func (c *connection) interrupt() {
	tls := libc.NewTLS()
	defer tls.Close()
	sqlite3.Xsqlite3_interrupt(tls, c.db)
}

type statement struct {
	on      *connection
	s       uintptr
	columns int
}

// prepare compiles a statement that will be run many times.
func (c *connection) prepare(sql string) (*statement, error) {
	text, err := libc.CString(sql)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(c.tls, text)
	out := libc.Xmalloc(c.tls, 8)
	defer libc.Xfree(c.tls, out)
	if code := sqlite3.Xsqlite3_prepare_v3(c.tls, c.db, text, -1, sqlite3.SQLITE_PREPARE_PERSISTENT, out, 0); code != codeOK {
		return nil, c.fault(code)
	}
	s := &statement{on: c, s: pointer(out)}
	s.columns = int(sqlite3.Xsqlite3_column_count(c.tls, s.s))
	return s, nil
}

func (s *statement) finalize() { sqlite3.Xsqlite3_finalize(s.on.tls, s.s) }

// bind binds copies of the parameters, for a statement that receives rows. They stay bound when it is reset.
func (s *statement) bind(params []byte) error {
	if code := s.bindAs(params, ^uintptr(0)); code != codeOK {
		return s.on.fault(code)
	}
	return nil
}

// bindAs copies the parameters to the connection's room and binds them there, or copies of them. They may stay there when they are bound anew
// before the statement is stepped again.
func (s *statement) bindAs(params []byte, kept uintptr) int32 {
	c := s.on
	if c.size < len(params) {
		libc.Xfree(c.tls, c.room)
		c.size = 2 * len(params)
		c.room = libc.Xmalloc(c.tls, libc.Tsize_t(c.size))
		if c.room == 0 {
			c.size = 0
			return sqlite3.SQLITE_NOMEM
		}
	}
	copy(foreign(c.room, len(params)), params)
	for at, n := 0, int32(1); at < len(params); n++ {
		var code int32
		tag := params[at]
		at++
		switch tag {
		case tagInteger:
			code = sqlite3.Xsqlite3_bind_int64(c.tls, s.s, n, int64(binary.LittleEndian.Uint64(params[at:])))
			at += 8
		case tagReal:
			code = sqlite3.Xsqlite3_bind_double(c.tls, s.s, n, math.Float64frombits(binary.LittleEndian.Uint64(params[at:])))
			at += 8
		default:
			size := int(binary.LittleEndian.Uint32(params[at:]))
			at += 4
			if tag == tagText {
				code = sqlite3.Xsqlite3_bind_text(c.tls, s.s, n, c.room+uintptr(at), int32(size), kept)
			} else {
				code = sqlite3.Xsqlite3_bind_blob(c.tls, s.s, n, c.room+uintptr(at), int32(size), kept)
			}
			at += size
		}
		if code != codeOK {
			return code
		}
	}
	return codeOK
}

// foreign is memory of the translated library seen as bytes. The library takes it from the system, not from Go: it does not move and is
// not collected, so turning its address into a pointer is safe.
func foreign(at uintptr, size int) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), size)
}

// pointer reads what a call of the library has left in out.
func pointer(out uintptr) uintptr { return uintptr(binary.LittleEndian.Uint64(foreign(out, 8))) }

// run runs a statement that returns no rows and tells how many it changed.
func (s *statement) run(params []byte) (changes int, err error) {
	c := s.on
	code := s.bindAs(params, 0)
	if code == codeOK {
		code = sqlite3.Xsqlite3_step(c.tls, s.s)
		if code == codeDone {
			changes = int(sqlite3.Xsqlite3_changes(c.tls, c.db))
		}
		if reset := sqlite3.Xsqlite3_reset(c.tls, s.s); code == codeDone && reset != codeOK {
			code = reset
		}
	}
	if code != codeDone {
		return 0, c.fault(code)
	}
	return changes, nil
}

// fetch runs a statement that returns at most one row and receives it in rec: integers and reals as eight bytes, texts and blobs as
// they are.
func (s *statement) fetch(params []byte, rec *drivers.Record) (found bool, err error) {
	c := s.on
	rec.Reset()
	code := s.bindAs(params, 0)
	if code == codeOK {
		code = sqlite3.Xsqlite3_step(c.tls, s.s)
		if code == codeRow {
			rec.Bytes, rec.Ends = s.cells(rec.Bytes, rec.Ends)
		}
		if reset := sqlite3.Xsqlite3_reset(c.tls, s.s); code == codeDone && reset != codeOK {
			code = reset
		}
	}
	switch code {
	case codeRow:
		return true, nil
	case codeDone:
		return false, nil
	}
	return false, c.fault(code)
}

// cells appends the cells of the current row.
func (s *statement) cells(bytes []byte, ends []int) ([]byte, []int) {
	tls := s.on.tls
	for i := range int32(s.columns) {
		switch sqlite3.Xsqlite3_column_type(tls, s.s, i) {
		case sqlite3.SQLITE_INTEGER:
			bytes = binary.LittleEndian.AppendUint64(bytes, uint64(sqlite3.Xsqlite3_column_int64(tls, s.s, i)))
		case sqlite3.SQLITE_FLOAT:
			bytes = binary.LittleEndian.AppendUint64(bytes, math.Float64bits(sqlite3.Xsqlite3_column_double(tls, s.s, i)))
		case sqlite3.SQLITE_NULL:
			ends = append(ends, -1)
			continue
		default:
			from := sqlite3.Xsqlite3_column_blob(tls, s.s, i)
			bytes = append(bytes, foreign(from, int(sqlite3.Xsqlite3_column_bytes(tls, s.s, i)))...)
		}
		ends = append(ends, len(bytes))
	}
	return bytes, ends
}

// receive appends up to most more rows to the answer, cells as fetch has them. With fewer than most the statement is
// done, and has to be reset before it is stepped again: it would begin anew.
func (s *statement) receive(answer *drivers.Answer, most int) (rows int, err error) {
	for rows < most {
		switch code := sqlite3.Xsqlite3_step(s.on.tls, s.s); code {
		case codeRow:
			answer.Bytes, answer.Ends = s.cells(answer.Bytes, answer.Ends)
			rows++
		case codeDone:
			return rows, nil
		default:
			return rows, s.on.fault(code)
		}
	}
	return rows, nil
}

func (s *statement) reset() { sqlite3.Xsqlite3_reset(s.on.tls, s.s) }
