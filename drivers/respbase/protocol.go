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

// parse reads one answer. Rows says afterwards whether there was something: the number of an integer, 1 for a value or a status, 0 for nil.
func parse(call *wire.Call, data []byte) (taken int, done bool, err error) {
	end := bytes.IndexByte(data, '\n')
	if end < 0 {
		if len(data) > lineLimit {
			return 0, false, errNotRESP
		}
		return 0, false, nil
	}
	if end < 2 || data[end-1] != '\r' {
		return 0, false, errNotRESP
	}
	line := data[1 : end-1]
	taken = end + 1
	if call == nil {
		// The only thing that a server says unasked, before it closes the connection.
		if data[0] == '-' {
			return taken, false, classify(string(line))
		}
		return taken, false, errors.New("an answer that nobody asked for")
	}
	switch data[0] {
	case '+':
		call.Rows = 1
	case '-':
		call.Err = classify(string(line))
	case ':':
		if call.Rows, err = number(line); err != nil {
			return taken, false, err
		}
	case '_':
	case '$':
		size, err := number(line)
		if err != nil || size < -1 || size > maxValue {
			return taken, false, errNotRESP
		}
		if size < 0 {
			break
		}
		if len(data)-taken < int(size)+2 {
			return 0, false, nil // once it is all there
		}
		call.Record.Bytes = append(call.Record.Bytes, data[taken:taken+int(size)]...)
		call.Rows = 1
		taken += int(size) + 2
	default:
		return taken, false, fmt.Errorf("%w: it begins with %q", errNotRESP, data[0])
	}
	return taken, true, nil
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
