package result

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// SpecDigest returns the SHA-256 in hex of a spec's JSON without white space, its properties in the order in which they stand. It is
// what spec.Digest gives for the spec that the JSON was made from.
func SpecDigest(spec json.RawMessage) (string, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, spec); err != nil {
		return "", fmt.Errorf("digest of the spec: %w", err)
	}
	return digest(compact.Bytes()), nil
}

// Fingerprint returns the SHA-256 in hex of every field that is the machine's own and stays: equal on machines that should measure the
// same. Left out are the name, the digest itself, and what depends on who looked or when: limits, container engine, measurements.
func (h Host) Fingerprint() string {
	h.Name, h.Digest = "", ""
	h.Limits, h.ContainerEngine, h.Probe = nil, "", nil
	text, err := json.Marshal(h)
	if err != nil {
		return "" // only a cgroup limit that is not a number gets here; Validate names it
	}
	return digest(text)
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
