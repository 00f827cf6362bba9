package spec

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzBuild feeds any file to Build: nothing panics, each problem has its place, and what is built travels as JSON and is the same afterwards.
func FuzzBuild(f *testing.F) {
	for _, seed := range []string{
		"", workload, head + "[[scans]]\nid = 'a'\nname = 'a'\nwhere = { number = { gte = 1, lt = 9 }, any = [{ city = 'rome' }, { not = { active = true } }] }\n" +
			"order = ['score desc']\noffset = 5\nlimit = 10\nindex = { fields = ['city', 'score'] }\nwrites = [0.15]\nrate = 100\narrival = 'poisson'\n",
		head + "[[scans]]\nid = 'a'\nruns = [{ name = 'x', projection = 'COUNT', iterations = 3 }, { name = 'y', measurement_time = 3 }]\ncondition = { sql = 'a = 1' }\n",
		head + "[[scans]]\nid = 'a'\nname = 'a'\naggregates = ['sum(number)', 'count']\ngroup_by = 'city'\n[[mixes]]\nname = 'm'\nweights = { read = 1, scan = 2 }\n" +
			"distribution = 'hotspot'\nhot_rows = 0.1\n",
		head + "[[batches]]\nname = 'b'\noperation = 'CREATE'\nbatch_size = 9223372036854775807\nsamples = 9223372036854775807\n",
		head + "[[scans]]\nid = 'v'\nname = 'v'\nvector_query = { field = 'number', top_k = 3, index_strategy = { kind = 'hnsw', ef_search = [1, 2] } }\n",
		"rate = -inf\nmeasurement_time = '0s'\nmin_iterations = 0\n", "clients = 9223372036854775807\nthreads = 9223372036854775807\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		request, err := buildWith(t, text, "-d", "sqlite", "-s", "1000", "--corpus-seed", "1")
		if err != nil {
			problems, ok := err.(Problems)
			if !ok || len(problems) == 0 {
				t.Fatalf("the error is %T of %v", err, err)
			}
			for _, p := range problems {
				if p.Msg == "" || strings.Contains(p.String(), "\n") || p.File != "" && p.Key != "" && p.Line == 0 {
					t.Fatalf("problem %#v cannot be shown", p)
				}
			}
			return
		}
		data, err := json.Marshal(request.Spec)
		if err != nil {
			t.Fatal(err)
		}
		var again Spec
		if err := json.Unmarshal(data, &again); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if again.Digest() != request.Spec.Digest() {
			t.Fatalf("the spec is another one after it has travelled:\n%s\n%s", data, again.canonical())
		}
	})
}
