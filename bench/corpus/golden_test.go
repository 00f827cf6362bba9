package corpus

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

// These values pin the algorithm: the same seed must give the same rows and keys on every machine and in every later version. Whoever changes one
// on purpose also raises Algorithm, and results before and after are not compared any more.

func TestGoldenAlgorithm(t *testing.T) {
	if Algorithm != 1 {
		t.Fatal("the algorithm has a new version: pin new values in this file")
	}
}

func TestGoldenRows(t *testing.T) {
	tests := []struct {
		name     string
		seed     uint64
		table    map[string]any
		index    uint64
		version  uint32
		checksum uint64
		holds    []string // parts of its JSON
	}{
		{"the first row", 20260908, crudTable(), 0, 0, 0xf7e48065b17bc201, []string{
			`"age":19,"city":"paris","created_at":"1988-06-15T09:32:54Z"`, `"geography":{"code":"Rzf"`, `"name":"2KGyhac12FhXi1mH412H"`,
			`"request_id":"af25ab95-37e3-4a56-8e3d-c81cf248c400","score":90.33505249023438`, `"seal":8833612678032896029`,
		}},
		{"its next version", 20260908, crudTable(), 0, 1, 0x20cc8478ca4a5e97, []string{`"integer":1177299959`, `"tags":["beta","kappa","rho"]`}},
		{"beyond 32 bits", 20260908, crudTable(), 1 << 32, 0, 0x58385e5be3523495, nil},
		{"the last row", 20260908, crudTable(), MaxRows - 1, MaxVersions - 1, 0x8ddfdf9e6b796358, []string{`"seal":3676268369461477572`}},
		{"every kind", 1, everyKind(), 12345, 6, 0xfd0116791005dd78, []string{
			`"array":[-10509625,[true,"562b10f6-6ad9-40b6-9473-ff0bf16b91ef"],{"k":"705225.5748"}]`, `"clustered":[-0.2045899,0.17665812,`,
			`"decimal":"-524.8543"`, `"int":-907292861983963171`, `"v":[0.95983493,-0.48725915,`, `"words":"\u0001 日本 é \u0001 é 日本"`,
		}},
		{"uniform vectors", 1, map[string]any{"v": "vector:768"}, 1, 0, 0x639e6a131ff11e55, nil},
		{"clustered vectors", 1, map[string]any{"v": "vector:768:clustered:200"}, 1, 0, 0x25fb9bba7e072c11, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := mustCorpus(t, test.seed, test.table, KeyInteger, false)
			var r Row
			c.Row(&r, test.index, test.version)
			if got := r.Checksum(); got != test.checksum {
				t.Errorf("checksum %#x, want %#x", got, test.checksum)
			}
			text := string(r.AppendJSON(nil, c.Template()))
			for _, part := range test.holds {
				if !strings.Contains(text, part) {
					t.Errorf("no %s in\n%s", part, text)
				}
			}
		})
	}
}

func TestGoldenKeys(t *testing.T) {
	tests := []struct {
		kind   KeyKind
		random bool
		keys   string // of rows 0 and 2³¹; empty for long keys
		sum    string // of all edges
	}{
		{KeyInteger, false, "1 2147483649", "a647ac087634d504"},
		{KeyInteger, true, "2587642714172479 2751277828237355", "88b7adc4d2cf4994"},
		{KeyString26, false, "0000000000000ef4df5e2a5fde 00021474836489f859148e33a9", "d366e04b18a01da9"},
		{KeyString26, true, "ef4df5e2a5fde0000000000000 9f859148e33a90002147483648", "d89fd7d7a942eb09"},
		{KeyString90, false, "", "6249c7d863b6375a"},
		{KeyString90, true, "", "39017a32b829fe1b"},
		{KeyString250, false, "", "7ed3693582a621be"},
		{KeyString250, true, "", "817ffdb94b23b1da"},
		{KeyString506, false, "", "180362bf12c700cf"},
		{KeyString506, true, "", "39d7bff11c8a509d"},
		{KeyUUID, false, "018bcfe5-6800-76dd-95ab-5a0cbbe07ff6 018c4fe5-6800-7b52-9e40-4710c02d00af", "4ee7580544c74ac7"},
		{KeyUUID, true, "9317284c-8ac3-4e6d-95ab-5a0cbbe07ff6 9c645c9a-1682-4ab5-9e40-4710c02d00af", "b809ac05b9356473"},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%s/random=%t", test.kind, test.random), func(t *testing.T) {
			c := mustCorpus(t, 1, crudTable(), test.kind, test.random)
			var a, b KeyBuffer
			if got := fmt.Sprint(c.Key(&a, 0), c.Key(&b, 1<<31)); test.keys != "" && got != test.keys {
				t.Errorf("keys %s, want %s", got, test.keys)
			}
			h := sha256.New()
			for _, index := range edges {
				h.Write(c.Key(&a, index).AppendOrdered(nil))
			}
			if got := hex.EncodeToString(h.Sum(nil)[:8]); got != test.sum {
				t.Errorf("all keys hash to %s, want %s", got, test.sum)
			}
		})
	}
}

func TestGoldenDigest(t *testing.T) {
	c := mustCorpus(t, 1, crudTable(), KeyUUID, true)
	const want = "e5638e16b0be6489264e59c363ea39b6fbeaf018b203724461ef2fdc88e060f2"
	if got := c.Digest(); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}
