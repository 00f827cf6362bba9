package respbase

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/wire"
)

// lineLimit is the longest first line of an answer, in bytes; what is longer is not RESP.
const lineLimit = 64 << 10

// maxValue is the longest value that a server may hold, in bytes: 512 MB is the family's limit.
const maxValue = 512 << 20

var errNotRESP = errors.New("the answer is not RESP")

// How an answer is taken, as Call.Kind.
const (
	single  = iota // one value into Record, without an end
	list           // all values of an array, nested ones included, as cells of Record; -1 for nil
	several        // as many answers as Call.Left says; Rows adds them up
)

// parse reads one answer, or several. Rows says afterwards whether there was something: the number of an integer, 1 for a value or a status, 0 for
// nil. Call.Left is how many values are still to come.
func parse(call *wire.Call, data []byte) (taken int, done bool, err error) {
	if call == nil {
		return unasked(data)
	}
	if call.Left == 0 {
		call.Left = 1
	}
	for call.Left > 0 {
		size, err := parseValue(call, data[taken:])
		if taken += size; err != nil || size == 0 {
			return taken, false, err
		}
	}
	return taken, true, nil
}

// unasked reads the only thing that a server says unasked, before it closes the connection.
func unasked(data []byte) (taken int, done bool, err error) {
	line, taken, err := firstLine(data)
	switch {
	case err != nil || taken == 0:
		return 0, false, err
	case data[0] == '-':
		return taken, false, classify(string(line))
	}
	return taken, false, errors.New("an answer that nobody asked for")
}

// firstLine returns the first line without the byte that tells its kind; taken is 0 while it is not all there.
func firstLine(data []byte) (line []byte, taken int, err error) {
	end := bytes.IndexByte(data, '\n')
	switch {
	case end < 0 && len(data) > lineLimit:
		return nil, 0, errNotRESP
	case end < 0:
		return nil, 0, nil
	case end < 2 || data[end-1] != '\r':
		return nil, 0, errNotRESP
	}
	return data[1 : end-1], end + 1, nil
}

// parseValue reads one value, or the head of an array. It takes nothing while the value is not all there.
func parseValue(call *wire.Call, data []byte) (taken int, err error) {
	line, taken, err := firstLine(data)
	if err != nil || taken == 0 {
		return 0, err
	}
	switch data[0] {
	case '+':
		call.Rows++
	case '-':
		call.Err = classify(string(line))
	case ':':
		n, err := number(line)
		if err != nil {
			return taken, err
		}
		call.Rows += n
	case '_':
		nothing(call)
	case '$':
		size, err := number(line)
		if err != nil || size < -1 || size > maxValue {
			return taken, errNotRESP
		}
		if size < 0 {
			nothing(call)
			break
		}
		if len(data)-taken < int(size)+2 {
			return 0, nil
		}
		call.Record.Bytes = append(call.Record.Bytes, data[taken:taken+int(size)]...)
		if call.Kind == list {
			call.Record.Ends = append(call.Record.Ends, len(call.Record.Bytes))
		}
		call.Rows++
		taken += int(size) + 2
	case '*':
		size, err := number(line)
		if err != nil || size < 0 || call.Kind != list {
			return taken, errNotRESP
		}
		call.Left += int(size)
	default:
		return taken, fmt.Errorf("%w: it begins with %q", errNotRESP, data[0])
	}
	call.Left--
	return taken, nil
}

// nothing takes a nil.
func nothing(call *wire.Call) {
	if call.Kind == list {
		call.Record.Ends = append(call.Record.Ends, -1)
	}
}

// number reads a decimal number.
func number(text []byte) (n int64, err error) {
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	if len(text) == 0 || len(text) > 18 {
		return 0, errNotRESP
	}
	for _, digit := range text {
		if digit < '0' || digit > '9' {
			return 0, errNotRESP
		}
		n = 10*n + int64(digit-'0')
	}
	if negative {
		n = -n
	}
	return n, nil
}

// classify gives the server's refusal its class.
func classify(text string) error {
	err := errors.New(text)
	word, _, _ := strings.Cut(text, " ")
	switch {
	case word == "LOADING", word == "BUSY", word == "TRYAGAIN", word == "MASTERDOWN", word == "CLUSTERDOWN":
		return drivers.Classify(drivers.ClassConflict, err)
	case strings.Contains(text, "max number of clients"):
		return drivers.Classify(drivers.ClassConnection, err)
	}
	return err
}
