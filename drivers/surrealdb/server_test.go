package surrealdb

import (
	"slices"
	"strings"
	"testing"

	"github.com/durabench/durabench/drivers"
)

// TestContainersStartWithTheImagesEntrypoint looks at what a container is started with: the image's entrypoint is the binary, so the command is its arguments;
// settings and the password are in the environment alone, the data on the volume.
func TestContainersStartWithTheImagesEntrypoint(t *testing.T) {
	for _, tier := range engine.Tiers {
		l := drivers.Launch{
			Container: true, Binary: "surreal", Dir: "/durabench/server", Data: "/durabench/server/data", Host: "0.0.0.0", Port: server.Port, Password: "secret-word", Tier: tier,
		}
		l.Settings = server.Settings(l.Profile, tier, drivers.Resources{})
		command := server.Command(l)
		want := map[drivers.Tier]string{
			drivers.TierNone: "memory", drivers.TierProcess: "rocksdb:///durabench/server/data/records?sync=never", drivers.TierOS: "rocksdb:///durabench/server/data/records?sync=every",
		}[tier]
		if command[0] != "start" || command[len(command)-1] != want || !slices.Contains(command, "0.0.0.0:8000") || !slices.Contains(command, "/durabench/server/start.surql") {
			t.Errorf("tier %s: %q", tier, command)
		}
		if text := strings.Join(command, " "); strings.Contains(text, l.Password) {
			t.Errorf("tier %s: the password is on the command line: %s", tier, text)
		}
		env := server.Env(l)
		if env["SURREAL_PASS"] != l.Password || env["SURREAL_USER"] != server.User || env[settingRequests] == "" {
			t.Errorf("tier %s: environment %v", tier, env)
		}
		for name, content := range server.Files(l) {
			if strings.Contains(content, l.Password) {
				t.Errorf("tier %s: the password is in file %s", tier, name)
			}
		}
	}
}
