package postgres

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/wire"
)

// pgx's own codecs are the second opinion on the binary forms that this package writes and reads.

func TestNumericIsWhatPgxReads(t *testing.T) {
	types := pgtype.NewMap()
	for _, units := range []int64{
		0, 1, -1, 9999, 10000, -10000, 10001, 99_999_999, 100_000_000, 100_000_001, 123456789012345678, math.MaxInt64, math.MinInt64, math.MaxInt64 - 9999, 1_0000_0000_0000_0000,
	} {
		cell := appendNumeric(nil, units)[4:]
		var got pgtype.Numeric
		if err := types.Scan(oidNumeric, pgtype.BinaryFormatCode, cell, &got); err != nil {
			t.Errorf("%d: %v", units, err)
			continue
		}
		value := new(big.Rat).SetInt(got.Int)
		value.Mul(value, new(big.Rat).SetFrac(power10(max(got.Exp, 0)), power10(max(-got.Exp, 0))))
		if want := big.NewRat(units, 10_000); value.Cmp(want) != 0 {
			t.Errorf("%d units: pgx reads %s, want %s", units, value, want)
		}
		if back, err := decodeNumeric(cell); err != nil || back != units {
			t.Errorf("%d units: read back as %d, %v", units, back, err)
		}
	}
}

func power10(n int32) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

func TestNumericsOfOthersAreReadExactlyOrNotAtAll(t *testing.T) {
	types := pgtype.NewMap()
	for text, want := range map[string]int64{
		"0": 0, "1": 10_000, "-1.5": -15_000, "0.0001": 1, "100000000": 1_000_000_000_000, "922337203685477.5807": math.MaxInt64, "-922337203685477.5808": math.MinInt64,
		"0.00010": 1, "40000": 400_000_000,
	} {
		var n pgtype.Numeric
		if err := n.Scan(text); err != nil {
			t.Fatal(err)
		}
		cell, err := types.Encode(oidNumeric, pgtype.BinaryFormatCode, n, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeNumeric(cell); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"0.00001", "1.23456", "922337203685477.5808", "-922337203685477.5809", "1000000000000000000000000000000", "NaN", "Infinity", "-Infinity"} {
		var n pgtype.Numeric
		if err := n.Scan(text); err != nil {
			t.Fatal(err)
		}
		cell, err := types.Encode(oidNumeric, pgtype.BinaryFormatCode, n, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeNumeric(cell); err == nil {
			t.Errorf("%s is read as %d", text, got)
		}
	}
}

func TestOtherTypesAreWhatPgxReads(t *testing.T) {
	types := pgtype.NewMap()
	template, err := corpus.ParseTemplate(map[string]any{"d": "datetime", "v": "vector:3", "u": "uuid", "f": "float:0..1"})
	if err != nil {
		t.Fatal(err)
	}
	var row corpus.Row
	row.Reset(template)
	columns := template.Columns()
	cell := func(i int) []byte {
		dst, err := appendCell(nil, &columns[i], &row.Columns[i])
		if err != nil {
			t.Fatal(err)
		}
		if n := binary.BigEndian.Uint32(dst); int(n) != len(dst)-4 {
			t.Fatalf("column %s: length %d of %d bytes", columns[i].Name, n, len(dst)-4)
		}
		return dst[4:]
	}
	for _, moment := range []int64{0, -1, 1, 946_684_800, -62_135_596_800, 253_402_300_799} {
		row.SetUnix(&row.Columns[0], moment)
		var got time.Time
		if err := types.Scan(oidTimestamptz, pgtype.BinaryFormatCode, cell(0), &got); err != nil || got.Unix() != moment {
			t.Errorf("moment %d: pgx reads %v, %v", moment, got, err)
		}
	}
	row.SetFloat(&row.Columns[1], 0.1)
	var float float64
	if err := types.Scan(oidFloat8, pgtype.BinaryFormatCode, cell(1), &float); err != nil || float != 0.1 {
		t.Errorf("float: pgx reads %v, %v", float, err)
	}
	row.SetUUID(&row.Columns[2], [16]byte{1, 2, 15: 16})
	var id [16]byte
	if err := types.Scan(oidUUID, pgtype.BinaryFormatCode, cell(2), &id); err != nil || id != [16]byte{1, 2, 15: 16} {
		t.Errorf("uuid: pgx reads %v, %v", id, err)
	}
	row.SetFloats(&row.Columns[3], []float32{1, -0.5, math.SmallestNonzeroFloat32})
	var vector []float32
	if err := types.Scan(oidFloat4Array, pgtype.BinaryFormatCode, cell(3), &vector); err != nil || len(vector) != 3 || vector[1] != -0.5 || vector[2] != math.SmallestNonzeroFloat32 {
		t.Errorf("vector: pgx reads %v, %v", vector, err)
	}
}

func TestDamagedVectorsAreNotRead(t *testing.T) {
	var row corpus.Row
	var v corpus.Value
	whole := appendVector(nil, []float32{1, -0.5, math.MaxFloat32})[4:]
	if err := decodeVector(whole, &row, &v); err != nil || len(v.Floats()) != 3 || v.Floats()[1] != -0.5 || v.Floats()[2] != math.MaxFloat32 {
		t.Errorf("read back as %v, %v", v.Floats(), err)
	}
	for n := range whole {
		if err := decodeVector(whole[:n], &row, &v); err == nil {
			t.Errorf("the first %d of %d bytes are read as %v", n, len(whole), v.Floats())
		}
	}
	if err := decodeVector(append(whole, 0), &row, &v); err == nil {
		t.Error("a byte too many is read")
	}
}

func TestARequestIsThreeMessages(t *testing.T) {
	s := newStatement("r", "SELECT", 1)
	request := append([]byte{}, s.head...)
	request = appendSized(request, []byte("key"))
	request, err := end(request, 0)
	if err != nil {
		t.Fatal(err)
	}
	backend := pgproto3.NewBackend(strings.NewReader(string(request)), nil)
	message, err := backend.Receive()
	if err != nil {
		t.Fatal(err)
	}
	bind, ok := message.(*pgproto3.Bind)
	if !ok || bind.PreparedStatement != "r" || bind.DestinationPortal != "" || len(bind.Parameters) != 1 || string(bind.Parameters[0]) != "key" ||
		len(bind.ParameterFormatCodes) != 1 || bind.ParameterFormatCodes[0] != 1 || len(bind.ResultFormatCodes) != 1 || bind.ResultFormatCodes[0] != 1 {
		t.Errorf("bind: %+v", message)
	}
	if message, err = backend.Receive(); err != nil {
		t.Fatal(err)
	}
	if execute, ok := message.(*pgproto3.Execute); !ok || execute.Portal != "" || execute.MaxRows != 0 {
		t.Errorf("execute: %+v", message)
	}
	if message, err = backend.Receive(); err != nil {
		t.Fatal(err)
	}
	if _, ok := message.(*pgproto3.Sync); !ok {
		t.Errorf("sync: %+v", message)
	}
}

// answer encodes messages of a server.
func answer(t testing.TB, messages ...pgproto3.BackendMessage) (data []byte) {
	t.Helper()
	for _, message := range messages {
		var err error
		if data, err = message.Encode(data); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

func TestAnAnswerMayComeInAnyPieces(t *testing.T) {
	data := answer(t,
		&pgproto3.NoticeResponse{Severity: "NOTICE", Message: "by the way"}, &pgproto3.BindComplete{},
		&pgproto3.DataRow{Values: [][]byte{[]byte("one"), nil, {}, []byte("four")}}, &pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")},
		&pgproto3.ReadyForQuery{TxStatus: 'I'})
	for size := 1; size <= len(data); size++ {
		var call wire.Call
		var pending []byte
		finished := false
		for from := 0; from < len(data); from += size {
			if finished {
				t.Fatalf("pieces of %d: complete before the end", size)
			}
			pending = append(pending, data[from:min(from+size, len(data))]...)
			taken, done, err := parse(&call, pending)
			if err != nil {
				t.Fatal(err)
			}
			pending, finished = pending[taken:], done
		}
		if !finished || len(pending) > 0 || call.Rows != 1 || string(call.Record.Bytes) != "onefour" || call.Err != nil {
			t.Fatalf("pieces of %d: complete %v, %d bytes left, %d rows, error %v", size, finished, len(pending), call.Rows, call.Err)
		}
		if ends := call.Record.Ends; len(ends) != 4 || ends[0] != 3 || ends[1] != -1 || ends[2] != 3 || ends[3] != 7 {
			t.Fatalf("pieces of %d: ends %v", size, ends)
		}
	}
}

func TestErrorsOfTheServer(t *testing.T) {
	refusal := &pgproto3.ErrorResponse{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: "40P01", Message: "deadlock detected"}
	var call wire.Call
	_, done, err := parse(&call, answer(t, refusal, &pgproto3.ReadyForQuery{TxStatus: 'I'}))
	if err != nil || !done || drivers.ErrorClassOf(call.Err) != drivers.ClassConflict {
		t.Errorf("a deadlock: done %v, error %v, call's error %v", done, err, call.Err)
	}
	end := &pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "57P01", Message: "terminating connection due to administrator command"}
	for _, call := range []*wire.Call{nil, {}} {
		_, done, err = parse(call, answer(t, end))
		if done || drivers.ErrorClassOf(err) != drivers.ClassConnection {
			t.Errorf("the end of a session: done %v, error %v", done, err)
		}
	}
	if got := codeOf(errors.Join(errors.New("x"), &pgconn.PgError{Code: "23505"})); got != "23505" {
		t.Errorf("code %q", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(answer(f, &pgproto3.BindComplete{}, &pgproto3.DataRow{Values: [][]byte{[]byte("one"), nil}}, &pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")}, &pgproto3.ReadyForQuery{TxStatus: 'I'}))
	f.Add([]byte("D\x00\x00\x00\x08\x00\x01\xff\xff"))
	f.Add([]byte("E\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, call := range []*wire.Call{nil, {}} {
			taken, _, err := parse(call, data)
			if taken < 0 || taken > len(data) || err == nil && len(data)-taken > 5 && taken == 0 && binary.BigEndian.Uint32(data[1:]) < 4 {
				t.Errorf("took %d of %d bytes, %v", taken, len(data), err)
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	template, err := corpus.ParseTemplate(map[string]any{"a": "decimal", "b": "vector:2", "c": []any{"int"}, "d": "datetime", "e": "uuid", "f": "bool", "g": "float:0..1"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{0, 1, 0, 0, 0x40, 0, 0, 4, 0, 5}, uint8(0))
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2, 188, 0, 0, 0, 0, 0, 0, 0, 1}, uint8(1))
	f.Add([]byte{0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, uint8(1))
	f.Add([]byte("\x01[1]"), uint8(2))
	f.Fuzz(func(t *testing.T, cell []byte, column uint8) {
		var row corpus.Row
		row.Reset(template)
		i := int(column) % len(row.Columns)
		for _, searched := range []bool{false, true} {
			_ = (&schema{searched: searched}).decodeCell(&template.Columns()[i], cell, &row, &row.Columns[i])
		}
	})
}
