package conformance

import (
	"slices"
	"testing"

	"github.com/durabench/durabench/drivers"
)

// profiles are all combinations of a profile's flags, the defaults first.
func profiles() (all []drivers.Profile) {
	for bits := range 8 {
		all = append(all, drivers.Profile{Sync: bits&1 != 0, Persisted: bits&2 != 0, Optimised: bits&4 != 0})
	}
	return all
}

// profileFor returns the first profile that asks for the tier.
func (h Harness) profileFor(tier drivers.Tier) (drivers.Profile, bool) {
	for _, p := range profiles() {
		if got, err := h.Engine.Tier(p); err == nil && got == tier {
			return p, true
		}
	}
	return drivers.Profile{}, false
}

func testRegistration(t *testing.T, h Harness) {
	if registered, found := drivers.Lookup(h.Engine.Name); !found || registered.Title != h.Engine.Title {
		t.Errorf("engine %q is not in the registry", h.Engine.Name)
	}
	for _, p := range profiles() {
		tier, err := h.Engine.Tier(p)
		switch {
		case err != nil && err.Error() == "":
			t.Errorf("profile %+v is refused without a reason", p)
		case err == nil && !slices.Contains(h.Engine.Tiers, tier):
			t.Errorf("profile %+v asks for tier %q, which is not among %v", p, tier, h.Engine.Tiers)
		case err == nil && p.Sync && tier != drivers.TierOS:
			t.Errorf("profile %+v asks for sync and gets tier %q", p, tier)
		}
	}
	for _, tier := range h.Engine.Tiers {
		if _, reachable := h.profileFor(tier); !reachable {
			t.Errorf("no profile asks for tier %q", tier)
		}
	}
	if problems := h.Engine.CheckOptions(map[string]string{"no-such-option": "1"}); len(problems) != 1 {
		t.Errorf("an unknown option gives %d problems, want 1: %q", len(problems), problems)
	}
	if h.Engine.Connections != nil {
		config := drivers.Config{Clients: 3, Threads: 5}
		if n := h.Engine.Connections(config); n < 1 {
			t.Errorf("Connections of 3 clients with 5 threads: %d", n)
		}
	}
}

func testVersion(t *testing.T, h Harness) {
	s := h.open(t, plain(t))
	version, err := s.database.Version(t.Context())
	must(t, err)
	if version == "" {
		t.Error("the version is empty")
	}
	for _, subject := range []any{s.database, s.clients[0]} {
		if describer, ok := subject.(drivers.Describer); ok && describer.Carries() == "" {
			t.Errorf("%T.Carries is empty", subject)
		}
	}
	if preflighter, ok := s.database.(drivers.Preflighter); ok {
		if err := preflighter.Preflight(t.Context()); err != nil {
			t.Errorf("preflight of one client with one thread: %v", err)
		}
	}
}

// testTiers opens the database at every tier the engine declares and requires that the server says the same.
func testTiers(t *testing.T, h Harness) {
	for _, tier := range h.Engine.Tiers {
		for _, optimised := range []bool{false, true} {
			p, _ := h.profileFor(tier)
			p.Optimised = optimised
			if got, err := h.Engine.Tier(p); err != nil || got != tier {
				continue
			}
			name := string(tier)
			if optimised {
				name += "-optimised"
			}
			t.Run(name, func(t *testing.T) {
				s := h.open(t, plain(t), profile(p))
				settings, err := s.database.Settings(t.Context())
				must(t, err)
				if h.Unconfirmed != "" {
					if settings.Tier != "" || settings.Require(tier) == nil {
						t.Errorf("tier %q is read back, and %s", settings.Tier, h.Unconfirmed)
					}
				} else {
					must(t, settings.Require(tier))
				}
				names := make(map[string]bool)
				for _, setting := range settings.Values {
					if setting.Name == "" || names[setting.Name] {
						t.Errorf("setting name %q is empty or there twice", setting.Name)
					}
					names[setting.Name] = true
				}
				c := s.caller(0)
				must(t, c.create(t.Context(), 0, 0))
				must(t, c.check(t.Context(), 0, 0))
			})
		}
	}
}

// testOptions opens the database with every value of every option: each must load, answer and connect as declared.
func testOptions(t *testing.T, h Harness) {
	for _, option := range h.Engine.Options {
		for _, value := range option.Values {
			if h.LacksOption != nil && h.LacksOption(option.Name, value) != "" {
				continue
			}
			t.Run(option.Name+"="+value, func(t *testing.T) {
				options := map[string]string{option.Name: value}
				if problems := h.Engine.CheckOptions(options); len(problems) > 0 {
					t.Fatalf("the engine refuses its own option: %q", problems)
				}
				s := h.open(t, plain(t), load(2, 3), func(config *drivers.Config) { config.Options = options })
				for i := range s.clients {
					c := s.caller(i)
					must(t, c.create(t.Context(), uint64(i), 0))
					must(t, c.check(t.Context(), uint64(i), 0))
				}
				s.checkSockets(h)
			})
		}
	}
}

func testSockets(t *testing.T, h Harness) {
	if !h.Engine.Abilities().Sockets {
		t.Fatal("the engine has a server, but its database does not tell the number of sockets")
	}
	for _, shape := range [][2]int{{1, 1}, {1, 8}, {3, 1}, {3, 4}} {
		s := h.open(t, plain(t), load(shape[0], shape[1]))
		s.checkSockets(h)
		s.close()
	}
}

// checkSockets compares the number of sockets with the clients and with what the registration computes before a run, which may count
// connections beside the measured ones.
func (s *session) checkSockets(h Harness) {
	s.t.Helper()
	socketer, ok := s.database.(drivers.Socketer)
	if !ok || h.Engine.Connections == nil {
		return
	}
	clients, sockets, most := s.config.Clients, socketer.Sockets(), h.Engine.Connections(s.config)
	if sockets < clients || sockets%clients != 0 {
		s.t.Errorf("%d clients with %d threads: %d sockets, which is not the same number for each client", clients, s.config.Threads, sockets)
	}
	if sockets > most {
		s.t.Errorf("%d clients with %d threads: %d sockets, more than the %d that Connections says", clients, s.config.Threads, sockets, most)
	}
}
