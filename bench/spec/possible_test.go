package spec

import "testing"

func TestBuildRefusesConditionsThatFindNothing(t *testing.T) {
	const file = `
[value]
city = "string_enum:London,Rome"
[[scans]]
id = "a"
name = "a"
where = { city = "London" }
`
	const want = `bench.toml:7: scans[0].where.city: finds nothing: city is one of london, rome; did you mean "london"?`
	_, err := buildWith(t, file, "-d", "map", "-s", "10")
	if got := problemLines(t, err); len(got) != 1 || got[0] != want {
		t.Errorf("problems are %q, want %q", got, want)
	}
}
