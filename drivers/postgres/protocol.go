package postgres

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/durabench/durabench/drivers/wire"
)

// statement is a prepared statement, with everything of its messages that is the same each time.
type statement struct {
	name string
	sql  string
	head []byte // of Bind, up to the parameters
}

// tail ends every request: the result in binary, Execute without a limit of rows, and a Sync of its own, so that each operation is a
// transaction of its own and the failure of one does not take others on the same connection along.
var tail = func() []byte {
	b := []byte{0, 1, 0, 1}
	b = append(b, 'E', 0, 0, 0, 9, 0, 0, 0, 0, 0)
	return append(b, 'S', 0, 0, 0, 4)
}()

// bindTail is how much of tail belongs to the Bind message.
const bindTail = 4

func newStatement(name, sql string, parameters int) statement {
	head := []byte{'B', 0, 0, 0, 0, 0} // the length is filled in later; the unnamed portal
	head = append(append(head, name...), 0)
	head = append(head, 0, 1, 0, 1) // all parameters in binary
	return statement{name: name, sql: sql, head: binary.BigEndian.AppendUint16(head, uint16(parameters))}
}

// end completes a request whose dst holds a head and its parameters from start on.
func end(dst []byte, start int) ([]byte, error) {
	dst = append(dst, tail...)
	length := len(dst) - start - (len(tail) - bindTail) - 1
	if length > math.MaxInt32 {
		return dst, fmt.Errorf("row of %d bytes: a message to PostgreSQL holds at most 2 GiB", length)
	}
	binary.BigEndian.PutUint32(dst[start+1:], uint32(length))
	return dst, nil
}

// parse reads the messages of an answer, up to ReadyForQuery.
func parse(call *wire.Call, data []byte) (taken int, done bool, err error) {
	for len(data)-taken >= 5 {
		kind, length := data[taken], int(binary.BigEndian.Uint32(data[taken+1:]))
		if length < 4 || length > math.MaxInt32 {
			return taken, false, fmt.Errorf("message %q of length %d: this is not PostgreSQL's protocol", kind, length)
		}
		if len(data)-taken < length+1 {
			break
		}
		body := data[taken+5 : taken+1+length]
		taken += length + 1
		switch kind {
		case 'D': // DataRow
			if call == nil {
				return taken, false, fmt.Errorf("a row that nobody asked for")
			}
			if err := receiveRow(call, body); err != nil {
				return taken, false, err
			}
		case 'C': // CommandComplete
			if call != nil {
				if call.Kind == batch {
					call.Rows += concerned(body)
				} else {
					call.Rows = concerned(body)
				}
			}
		case 'Z': // ReadyForQuery
			if call == nil {
				return taken, false, fmt.Errorf("the end of an answer that nobody asked for")
			}
			return taken, true, nil
		case 'E': // ErrorResponse
			refusal, err := readError(body)
			if err != nil {
				return taken, false, err
			}
			if severity := refusal.SeverityUnlocalized; severity == "FATAL" || severity == "PANIC" || call == nil {
				return taken, false, classify(refusal)
			}
			call.Err = classify(refusal)
		case '1', '2', '3', 'G', 'I', 'N', 'S', 'A', 'T', 'n', 's', 't':
			// What needs no answer: parse, bind and close complete, copy begins, empty query, notice, parameter status,
			// notification, descriptions.
		default:
			return taken, false, fmt.Errorf("unexpected message %q", kind)
		}
	}
	return taken, false, nil
}

// receiveRow takes a DataRow into the call's record, or into its answer. What the answer's owner says to a row is the operation's error, and the
// rows that follow are passed over.
func receiveRow(call *wire.Call, body []byte) (err error) {
	if call.Kind != scanning {
		call.Record.Bytes, call.Record.Ends, err = appendRow(call.Record.Bytes, call.Record.Ends, body)
		return err
	}
	if call.Err != nil {
		return nil
	}
	a := &call.Answer
	before := len(a.Bytes)
	if a.Bytes, a.Ends, err = appendRow(a.Bytes, a.Ends, body); err != nil {
		return err
	}
	call.Err = a.Row(int64(len(a.Bytes) - before))
	return nil
}

// appendRow copies the cells of a DataRow.
func appendRow(dst []byte, ends []int, body []byte) ([]byte, []int, error) {
	if len(body) < 2 {
		return dst, ends, errDamaged
	}
	cells := int(binary.BigEndian.Uint16(body))
	body = body[2:]
	for range cells {
		if len(body) < 4 {
			return dst, ends, errDamaged
		}
		size := int32(binary.BigEndian.Uint32(body))
		body = body[4:]
		if size < 0 {
			ends = append(ends, -1)
			continue
		}
		if int(size) > len(body) {
			return dst, ends, errDamaged
		}
		dst = append(dst, body[:size]...)
		ends = append(ends, len(dst))
		body = body[size:]
	}
	return dst, ends, nil
}

var errDamaged = fmt.Errorf("a row that is cut off")

// concerned reads the number of rows at the end of a command tag such as "INSERT 0 1".
func concerned(tag []byte) (rows int64) {
	tag = bytes.TrimRight(tag, "\x00")
	for _, digit := range tag[bytes.LastIndexByte(tag, ' ')+1:] {
		if digit < '0' || digit > '9' {
			return 0
		}
		rows = 10*rows + int64(digit-'0')
	}
	return rows
}

func readError(body []byte) (*pgconn.PgError, error) {
	var response pgproto3.ErrorResponse
	if err := response.Decode(body); err != nil {
		return nil, fmt.Errorf("read an error of the server's: %w", err)
	}
	refusal := pgconn.ErrorResponseToPgError(&response)
	if refusal.SeverityUnlocalized == "" {
		refusal.SeverityUnlocalized = strings.ToUpper(refusal.Severity)
	}
	return refusal, nil
}
