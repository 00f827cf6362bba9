package result

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestDocumentsSurviveWritingAndReading(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := genDocument().Draw(t, "document")
		first, err := d.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(first)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(d, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("changed by writing and reading:\n%s", diff)
		}
		second, err := again.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, second) {
			t.Fatalf("the same document gave other bytes:\n%s", cmp.Diff(string(first), string(second)))
		}
		for name, write := range map[string]func(*bytes.Buffer) error{
			"table":    func(out *bytes.Buffer) error { return WriteTable(out, d, TableOptions{Width: 80}) },
			"csv":      func(out *bytes.Buffer) error { return WriteCSV(out, d) },
			"markdown": func(out *bytes.Buffer) error { return WriteMarkdown(out, d) },
		} {
			var out bytes.Buffer
			if err := write(&out); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if strings.Contains(out.String(), "NaN") || strings.Contains(out.String(), "Inf") {
				t.Fatalf("%s:\n%s", name, &out)
			}
		}
	})
}

func TestTimesAreWrittenInUTC(t *testing.T) {
	d := fakeDocument()
	utc, err := d.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := time.FixedZone("elsewhere", 5*3600+1800)
	d.Run.Started, d.Run.Finished = d.Run.Started.In(elsewhere), d.Run.Finished.In(elsewhere)
	d.Legs[0].Measured.Started = d.Legs[0].Measured.Started.In(elsewhere)
	d.Legs[1].Interruptions[0].At = d.Legs[1].Interruptions[0].At.In(elsewhere)
	local, err := d.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(utc), string(local)); diff != "" {
		t.Errorf("the same moments gave other bytes:\n%s", diff)
	}
	if d.Run.Started.Location() != elsewhere || d.Legs[1].Interruptions[0].At.Location() != elsewhere {
		t.Error("writing changed the document")
	}
}

func TestDecodeIsStrict(t *testing.T) {
	text, err := fakeDocument().Bytes()
	if err != nil {
		t.Fatal(err)
	}
	valid := string(text)
	replace := func(from, to string) string {
		if !strings.Contains(valid, from) {
			t.Fatalf("no %s in the document", from)
		}
		return strings.Replace(valid, from, to, 1)
	}
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"unknown property", replace(`"wallNs": 2000000000,`, `"wallNs": 2000000000, "wallMs": 2000,`), []string{"legs/0/measured", "wallMs"}},
		{"other case", replace(`"wallNs"`, `"WallNs"`), []string{"wallNs", "WallNs"}},
		{"property twice", replace(`"wallNs": 2000000000,`, `"wallNs": 1, "wallNs": 2000000000,`), []string{`line `, `property "wallNs" is there twice`}},
		{"missing property", replace(`"skewNs": 4000,`, ``), []string{"legs/0/measured", "skewNs"}},
		{"newer format", replace(`"schema": 1`, `"schema": 2, "new": true`), []string{"version 2", "knows up to 1", "a later one"}},
		{"no such format", replace(`"schema": 1`, `"schema": 0`), []string{"version 0 does not exist"}},
		{"another tool's file", `{"database":"Redis","system":{}}`, []string{`no "schema" version`, "not a durabench result"}},
		{"half a file", valid[:len(valid)/2], []string{"line ", "unexpected end"}},
		{"text after it", valid + "{}", []string{"line ", "after top-level value"}},
		{"nothing", "", []string{"unexpected end"}},
		{"an array", "[]", []string{"array"}},
		{"a number that is too long", replace(`"rows": 1000`, `"rows": 1e30`), []string{"1e30"}},
		{"contradiction", replace(`"p95": 95000000`, `"p95": 99500000`), []string{"run 20270301-postgres, which contradicts itself", "service/p99: 99000000 ns is less than p95, 99500000 ns"}},
		{"null for what must be there", replace(`"wallNs": 2000000000`, `"wallNs": null`), []string{"legs/0/measured/wallNs: got null, want integer"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Decode([]byte(tc.text))
			if err == nil {
				t.Fatal("it was read")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "want null") {
				t.Errorf("noise about the alternative in %v", err)
			}
		})
	}
}

// Missing is absent or null, and both read as missing.
func TestNullReadsAsMissing(t *testing.T) {
	text, err := emptyDocument().Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"service", "throughput", "response", "server"} {
		if bytes.Contains(text, []byte(`"`+name+`":`+" {")) {
			t.Errorf("%s is there in\n%s", name, text)
		}
	}
	with := strings.Replace(string(text), `"wallNs"`, `"service": null, "throughput": null, "response": null, "server": null, "wallNs"`, 1)
	with = strings.Replace(with, `"specDigest"`, `"sample": null, "specDigest"`, 1)
	d, err := Decode([]byte(with))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := d.Bytes(); err != nil || !bytes.Equal(again, text) {
		t.Errorf("null is not as absent: %v\n%s", err, cmp.Diff(string(text), string(again)))
	}
}

func TestWriteReplacesAllOrNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result.json")
	if err := fakeDocument().Write(path); err != nil {
		t.Fatal(err)
	}
	broken := fakeDocument()
	broken.Legs[0].Measured.Service.P99 = 1
	if err := broken.Write(path); err == nil {
		t.Error("a broken document was written")
	}
	d, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fakeDocument(), d); diff != "" {
		t.Errorf("read something else:\n%s", diff)
	}
	if err := embeddedDocument().Write(path); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	missing := filepath.Join(filepath.Dir(path), "missing", "result.json")
	if err := fakeDocument().Write(missing); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "write "+missing) {
		t.Errorf("into a missing directory: %v", err)
	}
	if _, err := ReadFile(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("from a missing directory: %v", err)
	}
}
