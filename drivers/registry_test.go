package drivers

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
)

// fakeClient and fakeDatabase have the four operations and nothing else; the embedded interfaces are nil and never called.
type (
	fakeClient   struct{ Client }
	fakeDatabase struct{ Database }
)

// ableClient and ableDatabase have every ability.
type (
	ableClient   struct{ Client }
	ableDatabase struct{ Database }
)

func (*ableClient) Load(context.Context, uint64, uint64, uint32) error { return nil }
func (*ableClient) Carries() string                                    { return "" }
func (*ableDatabase) Count(context.Context) (int64, error)             { return 0, nil }
func (*ableDatabase) Preflight(context.Context) error                  { return nil }
func (*ableDatabase) Sockets() int                                     { return 0 }

func embedded(name string) Engine {
	return Engine{
		Name: name, Title: "Fake", Family: FamilyEmbedded, Modes: []ServerMode{Embedded}, Tiers: []Tier{TierNone},
		Tier:    func(Profile) (Tier, error) { return TierNone, nil },
		Ability: (*fakeClient)(nil), DatabaseAbility: (*fakeDatabase)(nil),
		Open: func(context.Context, Config) (Database, error) { return nil, nil },
	}
}

func served(name string) Engine {
	e := embedded(name)
	e.Family, e.Modes, e.Tiers = FamilyRelational, []ServerMode{Process, Docker, Endpoint}, []Tier{TierOS, TierNone}
	e.Ability, e.DatabaseAbility = (*ableClient)(nil), (*ableDatabase)(nil)
	e.Connections = func(c Config) int { return c.Clients }
	e.Server = &Server{
		Binaries: []string{"faked"}, Install: "install faked", Image: "fake:1", Port: 1,
		Command: func(Launch) []string { return nil }, Endpoint: func(Launch) string { return "" },
	}
	return e
}

// forget takes the engines that a test registers out again.
func forget(t *testing.T) {
	t.Cleanup(func() {
		registry.Lock()
		defer registry.Unlock()
		registry.engines = nil
	})
}

// panicText returns what f panics with, "" when it does not.
func panicText(f func()) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = p.(string)
		}
	}()
	f()
	return ""
}

func TestRegistryFindsWhatIsRegistered(t *testing.T) {
	forget(t)
	if names := Names(); len(names) != 0 {
		t.Fatalf("the registry of this package's test holds %v", names)
	}
	for _, name := range []string{"zeta", "alpha", "mid"} {
		Register(embedded(name))
	}
	if names, want := Names(), []string{"alpha", "mid", "zeta"}; !slices.Equal(names, want) {
		t.Errorf("names %v, want them sorted: %v", names, want)
	}
	if engines := Engines(); len(engines) != 3 || engines[0].Name != "alpha" {
		t.Errorf("engines %v", engines)
	}
	if e, found := Lookup("mid"); !found || e.Name != "mid" {
		t.Errorf("lookup gives %q, %v", e.Name, found)
	}
	if _, found := Lookup("none"); found {
		t.Error("lookup finds an engine that is not registered")
	}
}

func TestRegisterPanicsOnDuplicates(t *testing.T) {
	forget(t)
	Register(embedded("twin"))
	if text := panicText(func() { Register(embedded("twin")) }); !strings.Contains(text, "twin") || !strings.Contains(text, "twice") {
		t.Errorf("the second registration panics with %q", text)
	}
}

func TestRegisterPanicsOnIncompleteRegistrations(t *testing.T) {
	forget(t)
	for _, test := range []struct {
		name  string
		spoil func(*Engine)
		want  string
	}{
		{"no name", func(e *Engine) { e.Name = "" }, "name"},
		{"capital", func(e *Engine) { e.Name = "Fake" }, "lower-case"},
		{"path", func(e *Engine) { e.Name = "a/b" }, "name"},
		{"no title", func(e *Engine) { e.Title = "" }, "Title"},
		{"family", func(e *Engine) { e.Family = "odd" }, "odd"},
		{"no modes", func(e *Engine) { e.Modes = nil }, "Modes"},
		{"mode", func(e *Engine) { e.Modes = []ServerMode{"cloud"} }, "cloud"},
		{"no tiers", func(e *Engine) { e.Tiers = nil }, "Tiers"},
		{"tier", func(e *Engine) { e.Tiers = []Tier{"most"} }, "most"},
		{"no tier function", func(e *Engine) { e.Tier = nil }, "Tier is nil"},
		{"no ability", func(e *Engine) { e.Ability = nil }, "Ability"},
		{"no database ability", func(e *Engine) { e.DatabaseAbility = nil }, "DatabaseAbility"},
		{"no open", func(e *Engine) { e.Open = nil }, "Open"},
		{"no connections", func(e *Engine) { e.Connections = nil }, "Connections"},
		{"no server", func(e *Engine) { e.Server = nil }, "Server is nil"},
		{"no binaries", func(e *Engine) { e.Server.Binaries = nil }, "Binaries"},
		{"no install", func(e *Engine) { e.Server.Install = "" }, "Install"},
		{"no command", func(e *Engine) { e.Server.Command = nil }, "Command"},
		{"no image", func(e *Engine) { e.Server.Image = "" }, "Image"},
		{"no endpoint", func(e *Engine) { e.Server.Endpoint = nil }, "Endpoint"},
		{"option without values", func(e *Engine) { e.Options = []Option{{Name: "x", Help: "x"}} }, "no values"},
		{"option without help", func(e *Engine) { e.Options = []Option{{Name: "x", Values: []string{"1"}}} }, "no help"},
		{"option twice", func(e *Engine) {
			o := Option{Name: "x", Values: []string{"1"}, Help: "x"}
			e.Options = []Option{o, o}
		}, "twice"},
		{"option that refuses its default", func(e *Engine) {
			e.Options = []Option{{Name: "x", Values: []string{"1"}, Help: "x", Check: func(string) error { return ErrClosed }}}
		}, "its own default"},
	} {
		e := served("fake")
		test.spoil(&e)
		if text := panicText(func() { Register(e) }); !strings.Contains(text, test.want) {
			t.Errorf("%s: panic %q, want one with %q", test.name, text, test.want)
		}
	}
	// All problems at once.
	if text := panicText(func() { Register(Engine{Name: "empty"}) }); !strings.Contains(text, "Title") || !strings.Contains(text, "Open") {
		t.Errorf("panic %q does not name every problem", text)
	}
	Register(served("fake"))
}

func TestAbilitiesComeFromTheTypes(t *testing.T) {
	if got := embedded("e").Abilities(); got != (Abilities{}) || len(got.Words()) != 0 {
		t.Errorf("an engine without abilities has %+v", got)
	}
	got := served("s").Abilities()
	if want := (Abilities{Load: true, Count: true, Preflight: true, Sockets: true, Carries: true}); got != want {
		t.Errorf("abilities %+v, want %+v", got, want)
	}
	if words := got.Words(); !slices.Equal(words, []string{"load", "count"}) {
		t.Errorf("words %v", words)
	}
}

func TestEmbeddedAndDurable(t *testing.T) {
	memory, file, server := embedded("memory"), embedded("file"), served("server")
	file.Tiers = []Tier{TierProcess}
	both := served("both")
	both.Modes = []ServerMode{Embedded, Endpoint}
	for _, test := range []struct {
		engine            Engine
		embedded, durable bool
	}{{memory, true, false}, {file, true, true}, {server, false, true}, {both, false, true}} {
		if e, d := test.engine.Embedded(), test.engine.Durable(); e != test.embedded || d != test.durable {
			t.Errorf("%s: embedded %v, durable %v; want %v, %v", test.engine.Name, e, d, test.embedded, test.durable)
		}
	}
}

// loadCorpus is a corpus for LoadRows.
func loadCorpus(t *testing.T) *corpus.Corpus {
	t.Helper()
	template, err := corpus.ParseTemplate(map[string]any{"v": "int"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := corpus.New(1, template, corpus.KeyInteger, false)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
