package mongodb

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// schema is what documents look like for a corpus.
type schema struct {
	template *corpus.Template
	key      corpus.KeyKind
	fields   []corpus.Field
	units    bool // decimals are stored as whole numbers of 10⁻⁴
}

// newSchema refuses names that mean something else to MongoDB.
func newSchema(c *corpus.Corpus, units bool) (*schema, error) {
	s := &schema{template: c.Template(), key: c.KeyKind(), fields: c.Template().Columns(), units: units}
	for i := range s.fields {
		if s.fields[i].Name == "_id" {
			return nil, drivers.Unsupported{Why: "MongoDB keeps the key in the field _id: the value template cannot have a column of that name"}
		}
		if err := checkName(&s.fields[i]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// checkName looks at the name of a field and of those inside it.
func checkName(f *corpus.Field) error {
	switch {
	case strings.HasPrefix(f.Name, "$"):
		return drivers.Unsupported{Why: fmt.Sprintf("field %s: to MongoDB a name that begins with $ is an operator", f.Name)}
	case strings.Contains(f.Name, "."):
		return drivers.Unsupported{Why: fmt.Sprintf("field %s: to MongoDB a dot divides the parts of a path", f.Name)}
	case strings.Contains(f.Name, "\x00"):
		return drivers.Unsupported{Why: fmt.Sprintf("field %q: MongoDB's names cannot hold the character NUL", f.Name)}
	}
	for i := range f.Elems {
		if err := checkName(&f.Elems[i]); err != nil {
			return err
		}
	}
	return nil
}

// shape names the form of the documents: collections of the same one hold the same kinds of rows.
func (s *schema) shape() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%v", s.template.Canonical(), s.key, s.units))
	return hex.EncodeToString(sum[:8])
}
