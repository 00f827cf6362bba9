// Package temporal finds the Temporal server durabench runs on, or starts one,
// and connects to it.
//
// Find looks in this order: the server TEMPORAL_ADDRESS names; a server of ours
// that runs already; temporald (infra/temporald, a Go module of its own) built
// before; the temporal CLI; and at last it builds temporald, which takes minutes
// once. DURABENCH_TEMPORALD names a temporald to start without looking.
//
// # How long a server of ours lives
//
// A server that Find starts is a process of its own session, so it outlives the
// program that started it; when it ends is decided by its users. Every program
// that found the server holds a shared lock on users.lock in its directory:
//
//   - Server.Stop gives up the caller's use and stops the server if nobody else
//     uses it. A foreground `run` and an interrupted `up` end with it, so that
//     whoever leaves last leaves nothing running.
//   - A program that dies gives up its use with its locks; the next one that
//     calls Stop cleans up after it.
//
// A server that durabench did not start is never stopped.
package temporal

import (
	enumspb "go.temporal.io/api/enums/v1"
)

// DefaultNamespace is where durabench's workflows run unless TEMPORAL_NAMESPACE
// says otherwise.
const DefaultNamespace = "durabench"

// Names of the search attributes durabench's workflows set. The typed keys are
// in package workflows, which must not import this one; they have these names.
const (
	AttributeEngine  = "Engine"
	AttributeSpec    = "Spec"
	AttributeHost    = "Host"
	AttributeVerdict = "Verdict"
	AttributeSuite   = "Suite"
	AttributeCommit  = "Commit"
	AttributeRows    = "Rows"
)

// Attributes returns the search attributes by name, with their types.
func Attributes() map[string]enumspb.IndexedValueType {
	return map[string]enumspb.IndexedValueType{
		AttributeEngine:  enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		AttributeSpec:    enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		AttributeHost:    enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		AttributeVerdict: enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		AttributeSuite:   enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		AttributeCommit:  enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		AttributeRows:    enumspb.INDEXED_VALUE_TYPE_INT,
	}
}

// Environment variables this package reads, beside those of Temporal's own
// envconfig (TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS_…, TEMPORAL_PROFILE …).
const (
	// EnvAddress names a server to use instead of one of ours.
	EnvAddress = "TEMPORAL_ADDRESS"
	// EnvNamespace names the namespace to run in.
	EnvNamespace = "TEMPORAL_NAMESPACE"
	// EnvUI is the URL of the Web UI of the server TEMPORAL_ADDRESS names.
	EnvUI = "TEMPORAL_UI_URL"
	// EnvSource is a clone of durabench to build temporald from.
	EnvSource = "DURABENCH_SOURCE"
	// EnvBinary is a built temporald to start instead of looking for a program.
	EnvBinary = "DURABENCH_TEMPORALD"
)
