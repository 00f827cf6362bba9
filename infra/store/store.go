// Package store keeps result documents: small named blobs that are written once and never changed. A run has a directory of its own:
// its finished legs one by one, as each finishes, and its result document at the end.
package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrExists tells that a key is taken by different bytes. Nothing was changed.
var ErrExists = errors.New("exists already with different content")

// ErrNotFound tells that nothing is stored under a key.
var ErrNotFound = errors.New("not found")

// Store keeps blobs by key. A key is a relative path of words with "/" between them. All methods may be called at once from many
// goroutines and many processes.
type Store interface {
	// Put stores data under key, all or nothing, and returns when it would survive a crash of the operating system. It never replaces
	// anything: putting the same bytes again is fine, different bytes are ErrExists.
	Put(ctx context.Context, key string, data []byte) error
	// Get returns what is stored under key, or ErrNotFound.
	Get(ctx context.Context, key string) ([]byte, error)
	// List returns the keys that begin with prefix, sorted; an empty prefix lists everything.
	List(ctx context.Context, prefix string) ([]string, error)
}

// Locator is a Store that can tell a person where a key's content lies.
type Locator interface {
	// Path returns the place as the user would type it, whether or not anything is there yet.
	Path(key string) string
}

// Checker is a Store that can tell before a run starts whether it would take a result.
type Checker interface {
	// Check tries a durable write and removes it again. Its error says where and what to do.
	Check(ctx context.Context) error
}

// Open opens the store that spec names: "dir:PATH", a bare path, or "s3://BUCKET/PREFIX" with the options of s3Form. It creates and
// writes nothing, so that a store may be opened only to be read; Checker tells whether it can be written.
func Open(spec string) (Store, error) {
	path, isDir := strings.CutPrefix(spec, "dir:")
	switch scheme, _, found := strings.Cut(spec, "://"); {
	case isDir:
	case found && scheme == "s3":
		return newBucket(spec)
	case found:
		return nil, fmt.Errorf("no store is named %q; use dir:PATH or s3://BUCKET/PREFIX", scheme)
	}
	if path == "" {
		return nil, fmt.Errorf("store %q: the directory is missing; use dir:PATH", spec)
	}
	return newDirectory(path)
}
