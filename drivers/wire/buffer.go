package wire

import "io"

const (
	firstBuffer = 4 << 10  // of a fresh connection; most answers fit
	fullBuffer  = 64 << 10 // a buffer that was read full grows up to here, to take more answers in one read
	keepBuffer  = 1 << 20  // a larger one, grown for one large answer, is let go
)

// buffer holds what was received and not taken yet.
type buffer struct {
	data     []byte
	from, to int
}

// received returns what is there.
func (b *buffer) received() []byte { return b.data[b.from:b.to] }

// take drops n bytes from the front.
func (b *buffer) take(n int) {
	if b.from += n; b.from < b.to {
		return
	}
	b.from, b.to = 0, 0
	if len(b.data) > keepBuffer {
		b.data = make([]byte, fullBuffer)
	}
}

// room returns memory to read into; add says how much was read.
func (b *buffer) room() []byte {
	if b.to == len(b.data) {
		b.grow()
	}
	return b.data[b.to:]
}

// add takes n bytes of the room for received.
func (b *buffer) add(n int) {
	b.to += n
	if b.to == len(b.data) && b.from == 0 && len(b.data) < fullBuffer {
		b.grow() // there may be more next time
	}
}

// fill reads once.
func (b *buffer) fill(from io.Reader) error {
	n, err := from.Read(b.room())
	if n > 0 {
		b.add(n)
		return nil
	}
	return err
}

func (b *buffer) grow() {
	if b.from >= len(b.data)/2 && b.from > 0 {
		b.to = copy(b.data, b.data[b.from:b.to])
		b.from = 0
		return
	}
	larger := make([]byte, max(2*len(b.data), firstBuffer))
	b.to = copy(larger, b.data[b.from:b.to])
	b.data, b.from = larger, 0
}
