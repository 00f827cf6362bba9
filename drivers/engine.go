package drivers

import "context"

// Family groups engines for display.
type Family string

// The families.
const (
	FamilyCalibration Family = "calibration" // no database: measures the harness itself
	FamilyEmbedded    Family = "embedded"    // runs inside the agent
	FamilyRelational  Family = "relational"
	FamilyKeyValue    Family = "key-value"
	FamilyDocument    Family = "document"
	FamilyMultiModel  Family = "multi-model"
	FamilyGraph       Family = "graph"
)

var families = []Family{
	FamilyCalibration, FamilyEmbedded, FamilyRelational, FamilyKeyValue, FamilyDocument, FamilyMultiModel, FamilyGraph,
}

// ServerMode is how a database comes to be.
type ServerMode string

// The server modes.
const (
	Embedded ServerMode = "embedded" // inside the agent
	Process  ServerMode = "process"  // we start the server's own binary in a directory of ours
	Docker   ServerMode = "docker"   // we start a container
	Endpoint ServerMode = "endpoint" // someone else's server, only read back
)

var modes = []ServerMode{Embedded, Process, Docker, Endpoint}

// Engine is one database product, as registered. Plain data and functions.
type Engine struct {
	Name   string // as -d takes it
	Title  string // as tables show it
	Family Family
	// Modes are the ways to have the database, the preferred first.
	Modes []ServerMode
	// Tiers are the durability tiers the engine can be set to, keyed by how: Tier maps a profile to one of them.
	Tiers []Tier
	// Tier says which tier a profile asks for, or why the engine cannot give it.
	Tier func(Profile) (Tier, error)
	// Ability is a nil pointer of the engine's Client type: optional interfaces are looked up on it without a server.
	Ability Client
	// DatabaseAbility is the same for its Database type.
	DatabaseAbility Database
	// Options names the engine's own settings with the values they take, the default first, and what each does.
	Options []Option
	// Connections returns how many connections a load will open with these settings, the database's own beside the clients' included;
	// nil for embedded engines.
	Connections func(Config) int
	// SearchedVectors says, for people, how vectors are kept of rows that will be searched (Config.Searches) and how of others, where that differs: the
	// rows of the one kind cannot be used as the other. Empty where they are the same.
	SearchedVectors string
	// Server says how to run the engine's own server; nil for embedded engines.
	Server *Server
	// Open connects to the database, or opens it in Config.Dir.
	Open func(context.Context, Config) (Database, error)
}

// Option is a setting of the engine's driver in the spec's [engine] table.
type Option struct {
	Name   string
	Values []string // allowed values, the default first
	Help   string
	// Check decides in place of Values when the values are too many to list, such as sizes; Values then holds the default and, for the
	// help, some more. Its error says what is allowed.
	Check func(value string) error
}

// Server describes how to run an engine's server, as plain data and pure functions shared by process and docker.
type Server struct {
	// Binaries are names to look for on PATH, the preferred first, e.g. "valkey-server".
	Binaries []string
	// Folders are more places to look in, with glob patterns, e.g. "/usr/lib/postgresql/*/bin"; the last match in version order wins.
	Folders []string
	// Other tells whose a binary is that goes by one of the names but is another product, from what it prints when asked for --version: the
	// product's name, or "" when the binary is right. Nil when a name says it all.
	Other func(version string) string
	// Install says what to install when no binary is found.
	Install string
	// Image is the default container image with a pinned tag.
	Image string
	// Port is the port inside a container.
	Port int
	// Init returns the command that makes a fresh data directory, or nil when the server needs none.
	Init func(Launch) []string
	// Command returns the server's command line, the binary first. Secrets are passed through Files or Env, never as arguments.
	Command func(Launch) []string
	// Files are written to the launch directory before Init, e.g. a password file or redis.conf; mode 0600.
	Files func(Launch) map[string]string
	// Settings lists what the profile sets and why; the same list drives process and docker.
	Settings func(Profile, Tier, Resources) []Setting
	// Endpoint returns the address of the started server for Config.Endpoint, without credentials.
	Endpoint func(Launch) string
	// User is the account that Credentials use.
	User string
	// NotRoot tells that the server refuses to run as root: process mode then runs it as an unprivileged account.
	NotRoot bool
	// StopSignal asks for a clean stop; 0 means SIGTERM.
	StopSignal int
	// Env is the environment in a container: what tells the image's own entrypoint to do there what Init does in a process. A secret goes
	// in one of Files where the image can be told to read it, because whoever may use the container engine can read an environment.
	Env func(Launch) map[string]string
	// SharedMemory is how many bytes of shared memory the server may come to use; nil when a container engine's usual 64 MiB will do.
	SharedMemory func(Launch) int64
	// Limits are the resource limits that the server needs in a container, by their names in lower case, e.g. "memlock"; -1 is no limit.
	Limits map[string]int64
}

// Launch is one start of a server.
type Launch struct {
	Binary   string // absolute path of the server's binary
	Dir      string // private directory: data, sockets, log
	Data     string // data directory below Dir
	Host     string // address to bind, a loopback address by default
	Port     int
	Password string // generated; use Credentials in files and environment only
	Profile  Profile
	Tier     Tier
	// Settings is what Server.Settings gave for this launch.
	Settings []Setting
	// Connections is how many connections the run will open.
	Connections int
	// Container tells that the server runs in a container, started by the entrypoint of its image. Paths are the container's, Binary is a name
	// to be found on its PATH, and Init is not run.
	Container bool
}

// Resources is what a host offers, for settings that are computed from it.
type Resources struct {
	MemoryBytes int64
	CPUs        int
}
