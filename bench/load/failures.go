package load

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// What is kept of failures.
const (
	maxTexts       = 3    // distinct texts per class
	maxTextRunes   = 300  // characters of a text
	maxTextsLooked = 1000 // errors of a class whose text is looked at; making it costs, and an engine may fail millions of times
	maxClasses     = 64   // a classifier that names a class per error must not fill the memory
	maxExamples    = 5    // wrong answers shown
)

// ownClasses always have a place of their own.
var ownClasses = []string{ClassTimeout, ClassWrong, ClassCancelled, ClassOther}

// failures counts failed operations by class. Failing is off the clock, so that one lock is enough.
type failures struct {
	judged atomic.Int64 // all but cancelled ones: those that the error budget is about

	mu       sync.Mutex
	classes  map[string]*ErrorCount
	wrong    int64
	examples []Mismatch
	lastText string
	kinds    [maxKinds]int64
}

// ofKind counts a failed operation of a kind.
func (f *failures) ofKind(kind int) {
	f.mu.Lock()
	f.kinds[kind]++
	f.mu.Unlock()
}

// add counts one failure.
func (f *failures) add(class string, err error) {
	f.note(class, err)
	if class != ClassCancelled {
		f.judged.Add(1)
	}
}

func (f *failures) note(class string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock() // err is a driver's, and its Error may panic
	count := f.classes[class]
	if count == nil && len(f.classes) >= maxClasses && !slices.Contains(ownClasses, class) {
		class = ClassOther
		count = f.classes[class]
	}
	if count == nil {
		count = &ErrorCount{Class: class}
		if f.classes == nil {
			f.classes = make(map[string]*ErrorCount)
		}
		f.classes[class] = count
	}
	count.Count++
	if len(count.Texts) < maxTexts && count.Count <= maxTextsLooked {
		text := shorten(err.Error())
		f.lastText = text
		if !slices.Contains(count.Texts, text) {
			count.Texts = append(count.Texts, text)
		}
	}
}

// addWrong counts one wrong answer.
func (f *failures) addWrong(mismatch *Mismatch) {
	f.mu.Lock()
	f.wrong++
	if len(f.examples) < maxExamples {
		f.examples = append(f.examples, *mismatch)
	}
	f.mu.Unlock()
	f.add(ClassWrong, mismatch)
}

// last returns the last text looked at; empty without any.
func (f *failures) last() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lastText
}

// report fills in what a result says of failures.
func (f *failures) report(result *Result) {
	result.Errors = f.errors()
	f.mu.Lock()
	defer f.mu.Unlock()
	result.Wrong = f.wrong
	result.Examples = slices.Clone(f.examples)
}

// errors returns the classes, most frequent first.
func (f *failures) errors() (counts []ErrorCount) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, count := range f.classes {
		c := *count
		c.Texts = slices.Clone(c.Texts)
		counts = append(counts, c)
	}
	slices.SortFunc(counts, func(a, b ErrorCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Class, b.Class))
	})
	return counts
}

// shorten makes an error's text fit for a result: valid UTF-8 and at most maxTextRunes characters.
func shorten(text string) string {
	text = strings.ToValidUTF8(text, "�")
	if len(text) <= maxTextRunes || utf8.RuneCountInString(text) <= maxTextRunes {
		return text
	}
	runes := 0
	for i := range text {
		if runes == maxTextRunes-1 {
			return text[:i] + "…"
		}
		runes++
	}
	return text
}

// budget is how many operations may fail.
type budget struct {
	rate    float64 // share of operations
	planned int64   // operations of a counted leg; 0 in a windowed one
	workers int64
}

// spent tells whether a leg has to stop: of begun operations so far, failed did.
func (b budget) spent(failed, begun int64) bool {
	if b.rate == 0 {
		return failed > 0
	}
	if b.planned > 0 && b.exceeded(failed, b.planned) {
		return true // even if all others succeed
	}
	// One failure per worker can be no more than a bad start, and a share near the allowed one can still come down to it: only the end
	// will tell. Twice the share will not come down.
	return failed > max(10, b.workers) && b.exceeded(failed, 2*begun)
}

// exceeded tells whether, of all operations of an ended leg, too many failed.
func (b budget) exceeded(failed, finished int64) bool {
	// Divided, not multiplied: 29 of 100 is 0.29 as a user writes it, but 0.29 × 100 is 28.999999999999996.
	return finished > 0 && float64(failed)/float64(finished) > b.rate
}
