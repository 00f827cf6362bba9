package surrealdb

import (
	"errors"
	"fmt"
	"strings"

	"github.com/durabench/durabench/drivers"
)

// A request is a map of an ID, a method and its parameters. Those of "query" are the text and a map of the parameters in it.

// appendRequest appends the head of a request with so many parameters, which follow.
func appendRequest(dst []byte, id uint64, method string, parameters int) []byte {
	dst = appendHead(dst, majorMap, 3)
	dst = appendHead(appendText(dst, "id"), majorUint, id)
	dst = appendText(appendText(dst, "method"), method)
	return appendHead(appendText(dst, "params"), majorArray, uint64(parameters))
}

// appendQuery appends the head of a query with so many parameters, whose names and values follow.
func appendQuery(dst []byte, id uint64, text string, parameters int) []byte {
	return appendHead(appendText(appendRequest(dst, id, "query", 2), text), majorMap, uint64(parameters))
}

// serverError is a refusal by the server.
type serverError struct {
	kind    string // the server's own class, e.g. "AlreadyExists"; empty from servers before 3
	subject string // what the class is about, e.g. "Record"; may be empty
	message string
}

func (e *serverError) Error() string { return strings.TrimSpace(e.message) }

// refusal reads a map that tells of an error, of a statement or of the whole request.
func refusal(members any) error {
	m, _ := members.(map[string]any)
	e := &serverError{}
	e.kind, _ = m["kind"].(string)
	for _, name := range []string{"message", "result"} {
		if text, is := m[name].(string); is {
			e.message = text
		}
	}
	if details, is := m["details"].(map[string]any); is {
		e.subject, _ = details["kind"].(string)
	}
	if e.message == "" {
		e.message = fmt.Sprintf("the server refuses without a reason: %v", members)
	}
	return classify(e)
}

// classify gives a refusal its class.
func classify(e *serverError) error {
	switch text := strings.ToLower(e.message); {
	case strings.Contains(text, "can be retried"), strings.Contains(text, "transaction conflict"), strings.Contains(text, "read or write conflict"):
		return drivers.Classify(drivers.ClassConflict, e)
	case strings.Contains(text, "exceeded the timeout"), strings.Contains(text, "timed out"):
		return drivers.Classify(drivers.ClassTimeout, e)
	}
	return e
}

// exists tells whether an error is that a record with the same key is there already. That of an index is another one.
func exists(err error) bool {
	var e *serverError
	if !errors.As(err, &e) {
		return false
	}
	if e.kind != "" && e.subject != "" {
		return e.kind == "AlreadyExists" && e.subject == "Record"
	}
	return strings.HasPrefix(e.message, "Database record ") && strings.HasSuffix(e.message, " already exists")
}

// span is a piece of an answer.
type span struct{ from, to int }

// in returns the piece itself.
func (p span) in(answer []byte) []byte { return answer[p.from:p.to:p.to] }

// resultOf finds the result of a request in its answer.
func resultOf(answer []byte, id uint64) (result span, err error) {
	s := scanner{data: answer}
	members, err := s.count(majorMap)
	if err != nil {
		return result, err
	}
	owned := false
	for ; members > 0; members-- {
		name, err := s.text()
		if err != nil {
			return result, err
		}
		at := s.at
		switch name {
		case "id":
			got, err := s.int()
			if err != nil {
				return result, err
			}
			owned = uint64(got) == id
			continue
		case "error":
			value, err := s.value()
			if err != nil {
				return result, err
			}
			return result, refusal(value)
		}
		if err := s.skip(); err != nil {
			return result, err
		}
		if name == "result" {
			result = span{at, s.at}
		}
	}
	if s.at != len(answer) || result.to == 0 || !owned {
		return result, fmt.Errorf("the answer is not one to request %d: %s", id, excerpt(answer))
	}
	return result, nil
}

// statements calls each with the result of every statement of a query's answer. The first statement that failed by itself is the error; those
// that failed because of it only say so.
func statements(answer []byte, id uint64, each func(i int, result span) error) error {
	results, err := resultOf(answer, id)
	if err != nil {
		return err
	}
	s := scanner{data: answer[:results.to], at: results.from}
	n, err := s.count(majorArray)
	if err != nil {
		return err
	}
	var failed error
	for i := range n {
		at := s.at
		result, ok, err := s.statement()
		if err != nil {
			return err
		}
		switch {
		case !ok:
			outcome := scanner{data: answer[:s.at], at: at}
			value, err := outcome.value()
			if err != nil {
				return err
			}
			if failed == nil || strings.Contains(failed.Error(), "not executed due to") {
				failed = refusal(value)
			}
		case failed == nil:
			if err := each(i, result); err != nil {
				return err
			}
		}
	}
	return failed
}

// statement reads the outcome of one statement: its result, and whether it succeeded.
func (s *scanner) statement() (result span, ok bool, err error) {
	members, err := s.count(majorMap)
	for ; err == nil && members > 0; members-- {
		var name, status string
		if name, err = s.text(); err != nil {
			break
		}
		at := s.at
		switch name {
		case "result":
			err = s.skip()
			result = span{at, s.at}
		case "status":
			status, err = s.text()
			ok = status == "OK"
		default:
			err = s.skip()
		}
	}
	if err == nil && result.to == 0 {
		err = errors.New("the answer has a statement without a result")
	}
	return result, ok, err
}

// only finds the result of a query of one statement.
func only(answer []byte, id uint64) (result span, err error) {
	n := 0
	err = statements(answer, id, func(_ int, r span) error {
		result, n = r, n+1
		return nil
	})
	if err == nil && n != 1 {
		err = fmt.Errorf("the answer has %d statements where one was asked", n)
	}
	return result, err
}
