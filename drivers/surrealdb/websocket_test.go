package surrealdb

import "testing"

// TestOwnerWaitsForTheID cuts the head of an answer at every byte: whose it is is known only with the ID, and never is a cut an error.
func TestOwnerWaitsForTheID(t *testing.T) {
	answer := appendHead(nil, majorMap, 2)
	answer = appendHead(appendText(answer, "id"), majorUint, 70000)
	id := len(answer)
	answer = appendText(appendText(answer, "result"), "done")
	// A server does not mask its frames.
	message := append([]byte{frameFinal | frameBinary, byte(len(answer))}, answer...)
	for n := range len(message) + 1 {
		got, known, err := owner(message[:n])
		if err != nil || known != (n >= 2+id) || known && got != 70000 {
			t.Errorf("of the first %d bytes: %d, known %t, %v", n, got, known, err)
		}
	}
	nobody := appendText(appendText(appendHead(nil, majorMap, 1), "result"), "done")
	if _, _, err := owner(append([]byte{frameFinal | frameBinary, byte(len(nobody))}, nobody...)); err == nil {
		t.Error("an answer without an ID is somebody's")
	}
}
