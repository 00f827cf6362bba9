package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"runtime/debug"
)

// revision returns the source revision of this build, with "+" when it was built from changed sources, or "" when it is not known.
func revision() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var revision, changed string
	for _, setting := range build.Settings {
		switch {
		case setting.Key == "vcs.revision":
			revision = setting.Value
		case setting.Key == "vcs.modified" && setting.Value == "true":
			changed = "+"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + changed
}

// stack returns the calling goroutine's stack.
func stack() string { return string(debug.Stack()) }

// digest identifies a setup, so that a worker does not adopt an agent that was started for something else.
func (s Setup) digest() string {
	data, err := json.Marshal(s)
	if err != nil {
		// A spec comes from JSON, so it has a form as JSON.
		panic("agent: encode a setup: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
