package mysqlbase

import (
	"errors"
	"strings"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/sqlrender"
	"github.com/durabench/durabench/drivers/sqlrender/rendertest"
)

func TestRenderings(t *testing.T) {
	for _, product := range []Product{{Name: "mariadb", MariaDB: true}, {Name: "mysql"}} {
		t.Run(product.Name, func(t *testing.T) {
			rendertest.Golden(t, dialect{product, assumed}, tableName, "testdata/"+product.Name+".sql")
		})
	}
}

// A server that leaves short words out of its indexes would answer as if no text had them.
func TestWordsThatTheServerLeavesOutAreRefused(t *testing.T) {
	c := rendertest.Corpus(t)
	render := func(made generated, word string) error {
		s := &query.Scan{ID: "words", Project: query.ID, Where: &query.Predicate{
			Op: query.MatchAll, Path: query.Path{"words"}, Values: []query.Literal{{Kind: corpus.String, Text: word}},
		}}
		bound, err := query.Bind(s, c.Template())
		if err != nil {
			t.Fatal(err)
		}
		_, err = sqlrender.Render(dialect{made: made}, sqlrender.Table{Name: tableName, Corpus: c}, bound)
		return err
	}
	for _, test := range []struct {
		made    generated
		word    string
		refused string
	}{
		{generated{words: []string{"words"}, minToken: 3, maxToken: 84}, "of", "innodb_ft_min_token_size"},
		{generated{words: []string{"words"}, minToken: 3, maxToken: 84}, "été", ""},
		{generated{words: []string{"words"}, minToken: 1, maxToken: 4}, "hello", "innodb_ft_max_token_size"},
		{generated{minToken: 1, maxToken: 84}, "hello", "full-text index"},
		{assumed, "of", ""},
	} {
		err := render(test.made, test.word)
		var unsupported drivers.Unsupported
		if refused := errors.As(err, &unsupported); refused != (test.refused != "") || refused && !strings.Contains(err.Error(), test.refused) {
			t.Errorf("%s with %+v: %v, want %q", test.word, test.made, err, test.refused)
		}
	}
}

// FuzzLiterals tells that no literal becomes part of a statement.
func FuzzLiterals(f *testing.F) { rendertest.FuzzLiterals(f, dialect{made: assumed}, tableName) }

// FuzzLiteralsOfMariaDB does the same for the other product.
func FuzzLiteralsOfMariaDB(f *testing.F) {
	rendertest.FuzzLiterals(f, dialect{Product{Name: "mariadb", MariaDB: true}, assumed}, tableName)
}
