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

// fill reads once, making room before.
func (b *buffer) fill(from io.Reader) error {
	if b.to == len(b.data) {
		b.room()
	}
	n, err := from.Read(b.data[b.to:])
	b.to += n
	if n > 0 {
		if b.to == len(b.data) && b.from == 0 && len(b.data) < fullBuffer {
			b.room() // there may be more next time
		}
		return nil
	}
	return err
}

func (b *buffer) room() {
	if b.from >= len(b.data)/2 && b.from > 0 {
		b.to = copy(b.data, b.data[b.from:b.to])
		b.from = 0
		return
	}
	larger := make([]byte, max(2*len(b.data), firstBuffer))
	b.to = copy(larger, b.data[b.from:b.to])
	b.data, b.from = larger, 0
}
