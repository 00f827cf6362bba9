// Package corpus makes the rows and keys that a benchmark stores and asks for. Both are pure functions of (seed, index, version), for keys
// of (seed, index): nothing is remembered between two rows, so any row can be made again by anyone, in any order, and an answer
// can be checked by content at any time.
//
// A Template says what a row looks like, in the value grammar described at ParseTemplate. A Corpus joins it with a seed and a form of
// key. A Row is memory that a row is made in, or that a driver decodes a database's answer into, over and over again without allocating.
package corpus

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
)

// Algorithm is the version of everything that decides the content of a corpus: mixing, keys, seals and generators. It is part of the digest
// and must grow with any change after which a seed gives other rows or keys.
const Algorithm = 1

// scatterBits is the width of the permutation behind random keys. 52 bits leave keys exact in engines that carry numbers as doubles.
const scatterBits = 52

// Corpus is a set of rows and keys without end. It is immutable and safe for concurrent use.
type Corpus struct {
	seed     uint64
	template *Template
	kind     KeyKind
	random   bool

	row1, row2 uint64      // keys of rowKey
	keyHash    uint64      // key of the hash part of keys
	scatter    permutation // index → random key
	seals      permutation // index and version → seal
	centres    [][]float32 // per clustered vector column, by its slot: the centres one after another
	data       []*dealt    // per vector column of a data set, by its slot
}

// New returns the corpus of a seed. Keys are in the order of the indexes, or scattered when random is set.
func New(seed uint64, t *Template, kind KeyKind, random bool) (*Corpus, error) {
	return NewOfData(seed, t, kind, random, nil)
}

// NewOfData is New for a template with vectors of data sets, which are given by name.
func NewOfData(seed uint64, t *Template, kind KeyKind, random bool, data map[string]Data) (*Corpus, error) {
	if t == nil {
		return nil, errors.New("corpus needs a template")
	}
	if _, err := ParseKeyKind(string(kind)); err != nil {
		return nil, err
	}
	c := &Corpus{
		seed:     seed,
		template: t,
		kind:     kind,
		random:   random,
		row1:     subkey(seed, domainRow, 0),
		row2:     subkey(seed, domainRow, 1),
		keyHash:  subkey(seed, domainKey, 100),
		scatter:  newPermutation(scatterBits/2, scatterBits/2, seed, domainKey),
		seals:    newPermutation(31, 32, seed, domainSeal),
	}
	for _, v := range t.clustered {
		c.centres = append(c.centres, v.centres(seed))
	}
	for _, v := range t.data {
		dealt, err := v.deal(data)
		if err != nil {
			return nil, err
		}
		c.data = append(c.data, dealt)
	}
	return c, nil
}

// Seed returns the seed.
func (c *Corpus) Seed() uint64 { return c.seed }

// Template returns the rows' template.
func (c *Corpus) Template() *Template { return c.template }

// KeyKind returns the form of the keys.
func (c *Corpus) KeyKind() KeyKind { return c.kind }

// Random tells whether the keys are scattered rather than in the order of the indexes.
func (c *Corpus) Random() bool { return c.random }

// Row makes the row with the index and version in dst, whose memory is used again: once dst has grown to the size of the largest row,
// nothing is allocated. Every column changes with the version. Beyond MaxRows or MaxVersions the row is made all the same, but its
// seal is -1.
func (c *Corpus) Row(dst *Row, index uint64, version uint32) {
	t := c.template
	dst.shape(t)
	dst.Index, dst.Version = index, version
	key := rowKey(c.row1, c.row2, index, version)
	last := len(t.columns) - 1
	for i := range last {
		t.columns[i].generate(c, dst, &dst.Columns[i], key)
	}
	dst.SetInt(&dst.Columns[last], c.seal(index, version))
}

// Digest names the content of the corpus: the hexadecimal SHA-256 of the algorithm's version, the seed, the template's canonical form and
// the form of the keys. Corpora of the same digest have the same rows and keys. A data set counts by its content, not by its name.
func (c *Corpus) Digest() string {
	h := sha256.New()
	var head [17]byte
	binary.LittleEndian.PutUint64(head[0:], Algorithm)
	binary.LittleEndian.PutUint64(head[8:], c.seed)
	if c.random {
		head[16] = 1
	}
	h.Write([]byte("durabench corpus\n"))
	h.Write(head[:])
	h.Write([]byte(string(c.kind) + "\n" + c.content()))
	return hex.EncodeToString(h.Sum(nil))
}
