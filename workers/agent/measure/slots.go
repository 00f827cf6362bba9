package measure

import (
	"unsafe"

	"github.com/durabench/durabench/bench/corpus"
)

const (
	// mostSlots is how many operations one worker makes ready at once: enough that a clock reading and a look at the leg's end are shared
	// by many, few enough that a leg ends soon after it is told to.
	mostSlots = 32
	// slotMemory is what the ready operations of all workers together may hold. With 128 × 48 in flight it leaves the agent below 200 MB.
	slotMemory = 64 << 20
)

// keySlot is one operation that needs a key.
type keySlot struct {
	index  uint64
	buffer corpus.KeyBuffer
	key    corpus.Key
}

// rowSlot is one operation that writes a row.
type rowSlot struct {
	keySlot
	row corpus.Row
}

// keySlots returns how many reads or deletes each of the workers makes ready at once.
func keySlots(workers int) int { return slotsOf(workers, int(unsafe.Sizeof(keySlot{}))) }

// rowSlots does the same for writes.
func (s *session) rowSlots(workers int) int {
	return slotsOf(workers, s.rowSize()+int(unsafe.Sizeof(rowSlot{})))
}

// rowSize is the memory of a row, by the size of the first ones.
func (s *session) rowSize() int {
	var row corpus.Row
	size := 0
	for index := range uint64(8) {
		s.corpus.Row(&row, index, 0)
		size = max(size, len(row.AppendBinary(nil, s.corpus.Template()))+valuesSize(row.Columns))
	}
	return size
}

// valuesSize is the memory of the values themselves, nested ones included.
func valuesSize(values []corpus.Value) int {
	size := len(values) * int(unsafe.Sizeof(corpus.Value{}))
	for i := range values {
		size += valuesSize(values[i].Elems())
	}
	return size
}

func slotsOf(workers, size int) int {
	return min(max(slotMemory/(max(workers, 1)*size), 1), mostSlots)
}
