// Package dry is the engine that is none: every operation succeeds at once and nothing is stored. A leg on it measures the harness
// itself, and its cost per operation is printed beside the results of real engines.
//
// Its reads cannot be verified: they leave Unstored in Record.Held, and Decode says so. A leg on it runs without verification.
package dry

import (
	"context"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

func init() {
	drivers.Register(drivers.Engine{
		Name:            "dry",
		Title:           "Dry",
		Family:          drivers.FamilyCalibration,
		Modes:           []drivers.ServerMode{drivers.Embedded},
		Tiers:           []drivers.Tier{drivers.TierNone},
		Tier:            tier,
		Ability:         (*client)(nil),
		DatabaseAbility: (*database)(nil),
		Open: func(context.Context, drivers.Config) (drivers.Database, error) {
			return &database{}, nil
		},
	})
}

// Unstored is what Read leaves in Record.Held: the mark of an answer without content.
var Unstored = &struct{ _ byte }{}

func tier(profile drivers.Profile) (drivers.Tier, error) {
	if profile.Sync || profile.Persisted {
		return "", drivers.Unsupported{Why: "dry stores nothing, so its only tier is none: leave out --sync and --persisted"}
	}
	return drivers.TierNone, nil
}

// database is without state.
type database struct{}

// Version names no library, for there is none.
func (*database) Version(context.Context) (string, error) { return "no store", nil }

// Settings reports the only tier there is.
func (*database) Settings(context.Context) (drivers.Settings, error) {
	return drivers.Settings{Tier: drivers.TierNone, Values: []drivers.Setting{}}, nil
}

// Prepare has nothing to do.
func (*database) Prepare(context.Context) error { return nil }

// Client returns a client; all are alike.
func (*database) Client(context.Context, int) (drivers.Client, error) { return &client{}, nil }

// Close has nothing to do.
func (*database) Close() error { return nil }

// client answers without looking at what it is asked, not even at whether it is closed: anything more would be measured as the harness's.
type client struct{}

// Create succeeds.
func (*client) Create(context.Context, corpus.Key, *corpus.Row) error { return nil }

// Read succeeds and marks the record as without content.
func (*client) Read(_ context.Context, _ corpus.Key, rec *drivers.Record) error {
	rec.Held = Unstored
	return nil
}

// Update succeeds.
func (*client) Update(context.Context, corpus.Key, *corpus.Row) error { return nil }

// Delete succeeds.
func (*client) Delete(context.Context, corpus.Key) error { return nil }

// Decode has nothing to decode.
func (*client) Decode(*drivers.Record, *corpus.Row) error {
	return drivers.Unsupported{Why: "dry stores nothing, so its answers have no content to verify"}
}

// Load has nothing to do.
func (*client) Load(context.Context, uint64, uint64, uint32) error { return nil }

// Close has nothing to do.
func (*client) Close() error { return nil }

// Carries describes how operations are in flight.
func (*client) Carries() string { return "nothing is in flight: every operation returns at once" }
