package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/wholefile"
)

// manifestFormat is the version of the manifest's format.
const manifestFormat = 1

// Manifest is what a load left behind for queries: a file beside the data that says what the data is. A query whose spec differs is
// refused, because its answers would be compared with rows that are not there.
type Manifest struct {
	Format        int               `json:"format"`
	Database      string            `json:"database"`
	Name          string            `json:"name,omitempty"`
	Server        string            `json:"server,omitempty"`
	Endpoint      string            `json:"endpoint,omitempty"`
	Samples       int64             `json:"samples"`
	Key           corpus.KeyKind    `json:"key"`
	Random        bool              `json:"random"`
	Seed          uint64            `json:"seed,string"`
	CorpusDigest  string            `json:"corpusDigest"`
	Template      json.RawMessage   `json:"template"`           // the value template in its canonical form
	Datasets      map[string]string `json:"datasets,omitempty"` // what names the content of each
	Sync          bool              `json:"sync"`
	Persisted     bool              `json:"persisted"`
	Optimised     bool              `json:"optimised"`
	EngineOptions map[string]string `json:"engineOptions,omitempty"`
	// Searched tells that the load was made for searches, as Spec.Searched has it; nil when the build that loaded did not note it.
	Searched *bool     `json:"searched,omitempty"`
	LoadedAt time.Time `json:"loadedAt"`
	Version  string    `json:"version"` // the build that loaded
}

// NewManifest describes the data that a load of s leaves, as of now.
func NewManifest(s *Spec) (*Manifest, error) {
	rows, err := s.Corpus()
	if err != nil {
		return nil, fmt.Errorf("describe the load of %s: %w", s.Database, err)
	}
	template := json.RawMessage(rows.Template().Canonical())
	return &Manifest{
		Format: manifestFormat, Database: s.Database, Name: s.Name, Server: s.Server, Endpoint: s.Endpoint,
		Samples: s.Samples, Key: s.Key, Random: s.Random, Seed: s.Seed, CorpusDigest: rows.Digest(), Template: template, Datasets: s.datasetDigests(),
		Sync: s.Sync, Persisted: s.Persisted, Optimised: s.Optimised, EngineOptions: s.Engine, Searched: &s.Searched,
		LoadedAt: time.Now().UTC(), Version: buildVersion(),
	}, nil
}

// ManifestPath returns where the manifest of a database, and of a name when the run has one, lies in dir.
func ManifestPath(dir, database, name string) string {
	file := "manifest-" + database
	if name != "" {
		file += "-" + name
	}
	return filepath.Join(dir, file+".json")
}

// ReadManifest reads what a load left in dir. Without one it says how to load.
func ReadManifest(dir, database, name string) (*Manifest, error) {
	path := ManifestPath(dir, database, name)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		named := ""
		if name != "" {
			named = " --name " + name
		}
		return nil, fmt.Errorf("nothing was loaded: %s is not there; load first with --mode load -d %s%s and the same --data-dir: %w",
			path, database, named, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("read manifest %s: %w; load again", path, err)
	}
	if m.Format != manifestFormat {
		return nil, fmt.Errorf("read manifest %s: it has format %d, this build reads %d; load again", path, m.Format, manifestFormat)
	}
	return &m, nil
}

// Write puts the manifest into dir, which is made if need be. A crash leaves the old manifest or the new one, never half of one.
func (m *Manifest) Write(dir string) error {
	path := ManifestPath(dir, m.Database, m.Name)
	if err := m.write(dir, path); err != nil {
		return fmt.Errorf("write manifest %s: %w", path, err)
	}
	return nil
}

func (m *Manifest) write(dir, path string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return wholefile.Write(path, append(text, '\n'), 0o644)
}

// RemoveManifest takes away what a load left in dir: before a load begins, and after one that did not finish. None there is no error.
func RemoveManifest(dir, database, name string) error {
	err := os.Remove(ManifestPath(dir, database, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = wholefile.SyncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("remove manifest: %w", err)
	}
	return nil
}

// Differences names everything in which s asks for other data than was loaded, with both values, e.g. "samples: loaded 100000, asked
// 200000". What does not change the data, such as clients and threads, may differ. searchedVectors is the engine's EngineFacts.SearchedVectors.
func (m *Manifest) Differences(s *Spec, searchedVectors string) []string {
	var found []string
	compare := func(what string, loaded, asked any) {
		if loaded != asked {
			found = append(found, fmt.Sprintf("%s: loaded %v, asked %v", what, loaded, asked))
		}
	}
	compare("database", m.Database, s.Database)
	compare("name", orNone(m.Name), orNone(s.Name))
	if m.Server != "" && s.Server != "" { // empty leaves the choice to the worker, which chooses the same for both
		compare("server", m.Server, s.Server)
	}
	compare("endpoint", orNone(m.Endpoint), orNone(s.Endpoint))
	compare("samples", m.Samples, s.Samples)
	compare("key", m.Key, s.Key)
	compare("random", m.Random, s.Random)
	compare("seed", m.Seed, s.Seed)
	compare("sync", m.Sync, s.Sync)
	compare("persisted", m.Persisted, s.Persisted)
	compare("optimised", m.Optimised, s.Optimised)
	for _, pair := range differingKeys(m.EngineOptions, s.Engine) {
		compare("engine."+pair.key, pair.loaded, pair.asked)
	}
	for _, pair := range differingKeys(m.Datasets, s.datasetDigests()) {
		compare("datasets."+pair.key, pair.loaded, pair.asked)
	}
	rows, err := s.Corpus()
	if err != nil {
		return append(found, err.Error())
	}
	for _, pair := range differingKeys(leaves(m.Template), leaves([]byte(rows.Template().Canonical()))) {
		compare("value."+pair.key, pair.loaded, pair.asked)
	}
	if s.Searched && searchedVectors != "" && !m.ForSearches() {
		loaded := "without any"
		if m.Searched == nil {
			loaded = "by build " + m.Version + ", which did not note whether for any"
		}
		found = append(found, fmt.Sprintf("searches for nearest neighbours: loaded %s, asked with them; %s keeps vectors %s: load again with the same scans as the query (the same file, "+
			"no --skip-scans or --skip-indexes), or query without searches", loaded, s.Database, searchedVectors))
	}
	if len(found) == 0 && rows.Digest() != m.CorpusDigest {
		// Same words, other rows: the generator itself changed between the two builds.
		found = append(found, fmt.Sprintf("rows: build %s loaded corpus %s, this build makes %s of the same spec",
			m.Version, m.CorpusDigest, rows.Digest()))
	}
	return found
}

// ForSearches tells whether the data is known to be loaded for searches. A query without any has to take it as such where the engine keeps vectors otherwise.
func (m *Manifest) ForSearches() bool { return m.Searched != nil && *m.Searched }

// orNone makes an empty text visible.
func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// differing is one key whose values differ.
type differing struct{ key, loaded, asked string }

// differingKeys returns the keys whose values differ, in order; a key that is not there shows as "none".
func differingKeys(loaded, asked map[string]string) []differing {
	all := map[string]bool{}
	for key := range loaded {
		all[key] = true
	}
	for key := range asked {
		all[key] = true
	}
	var found []differing
	for _, key := range sortedKeys(all) {
		if a, b := orNone(loaded[key]), orNone(asked[key]); a != b {
			found = append(found, differing{key, a, b})
		}
	}
	return found
}

// leaves flattens a template's canonical form: "geography.code" → "string:3".
func leaves(canonical []byte) map[string]string {
	var template any
	if err := json.Unmarshal(canonical, &template); err != nil {
		return map[string]string{"": "a template that cannot be read"}
	}
	flat := map[string]string{}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch v := value.(type) {
		case map[string]any:
			for key, member := range v {
				walk(join(path, key), member)
			}
		case []any:
			for i, element := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), element)
			}
		default:
			flat[path] = fmt.Sprint(v)
		}
	}
	walk("", template)
	return flat
}

// buildVersion names the running build, with its source revision when that is known.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := []string{strings.Trim(info.Main.Version, "()")}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			version = append(version, s.Value)
		}
	}
	return strings.Join(version, " ")
}
