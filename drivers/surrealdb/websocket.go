package surrealdb

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/durabench/durabench/drivers/wire"
)

// WebSocket (RFC 6455), as much as a client takes that sends and receives whole messages in binary. Compression is not offered.

// The kinds of frame.
const (
	frameBinary = 2
	frameClose  = 8
	framePing   = 9
	framePong   = 10
)

const (
	frameFinal  = 0x80 // in the first byte: the message ends with this frame
	frameMasked = 0x80 // in the second byte: four bytes of mask precede the content
)

// maxMessage is the longest message that is received, in bytes.
const maxMessage = 4 << 30

// handshake makes a connection a WebSocket.
func handshake(conn net.Conn, address *url.URL) error {
	var nonce [16]byte
	_, _ = rand.Read(nonce[:]) // never fails
	key := base64.StdEncoding.EncodeToString(nonce[:])
	request := &http.Request{Method: http.MethodGet, URL: address, Host: address.Host, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {key}, "Sec-Websocket-Protocol": {"cbor"},
	}}
	if err := request.Write(conn); err != nil {
		return err
	}
	received := bufio.NewReader(conn)
	response, err := http.ReadResponse(received, request)
	if err != nil {
		return fmt.Errorf("WebSocket handshake: %w", err)
	}
	_ = response.Body.Close() // there is none
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	header := response.Header
	switch {
	case response.StatusCode != http.StatusSwitchingProtocols:
		return fmt.Errorf("WebSocket handshake: the server answers %s", response.Status)
	case !strings.EqualFold(header.Get("Upgrade"), "websocket"), header.Get("Sec-Websocket-Accept") != base64.StdEncoding.EncodeToString(sum[:]):
		return errors.New("WebSocket handshake: the server's answer is of another protocol")
	case header.Get("Sec-Websocket-Protocol") != "cbor":
		return errors.New("WebSocket handshake: the server does not speak CBOR")
	case header.Get("Sec-Websocket-Extensions") != "":
		return errors.New("WebSocket handshake: the server wants an extension that it was not offered")
	case received.Buffered() > 0:
		return errors.New("WebSocket handshake: the server speaks before it is asked")
	}
	return nil
}

// appendFrame appends content as one frame, masked as a client must.
func appendFrame(dst []byte, kind byte, content []byte) []byte {
	dst = append(dst, frameFinal|kind)
	switch n := len(content); {
	case n < 126:
		dst = append(dst, frameMasked|byte(n))
	case n <= 0xffff:
		dst = binary.BigEndian.AppendUint16(append(dst, frameMasked|126), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, frameMasked|127), uint64(n))
	}
	mask := mathrand.Uint32()
	dst = binary.LittleEndian.AppendUint32(dst, mask)
	at := len(dst)
	dst = append(dst, content...)
	masked := dst[at:]
	for wide := uint64(mask) | uint64(mask)<<32; len(masked) >= 8; masked = masked[8:] {
		binary.LittleEndian.PutUint64(masked, binary.LittleEndian.Uint64(masked)^wide)
	}
	for i := range masked {
		masked[i] ^= byte(mask >> (i % 4 * 8))
	}
	return dst
}

// frame is the head of a frame.
type frame struct {
	kind   byte
	final  bool
	head   int // bytes of the head itself
	length int // bytes of content
}

// readFrame reads the head of the frame at the front of data; known is false while it is not all there.
func readFrame(data []byte) (f frame, known bool, err error) {
	if len(data) < 2 {
		return f, false, nil
	}
	f = frame{kind: data[0] & 0x0f, final: data[0]&frameFinal != 0, head: 2}
	if data[0]&0x70 != 0 || data[1]&frameMasked != 0 {
		return f, false, fmt.Errorf("the answer is not WebSocket: a frame begins with bytes %#02x %#02x", data[0], data[1])
	}
	length := uint64(data[1])
	switch {
	case length == 126:
		f.head = 4
	case length == 127:
		f.head = 10
	}
	if len(data) < f.head {
		return f, false, nil
	}
	switch f.head {
	case 4:
		length = uint64(binary.BigEndian.Uint16(data[2:]))
	case 10:
		length = binary.BigEndian.Uint64(data[2:])
	}
	if length > maxMessage {
		return f, false, fmt.Errorf("the answer has %d bytes: at most %d are received", length, int64(maxMessage))
	}
	f.length = int(length)
	return f, true, nil
}

// owner tells whose answer begins at the front of data. Answers are maps with the ID of the request, mostly in front.
func owner(data []byte) (id uint64, known bool, err error) {
	f, known, err := readFrame(data)
	if !known || err != nil {
		return 0, false, err
	}
	s := scanner{data: data[f.head:min(len(data), f.head+f.length)]}
	members, err := s.expect(majorMap)
	for ; err == nil && members > 0; members-- {
		var name string
		if name, err = s.text(); err != nil {
			break
		}
		if name != "id" {
			err = s.skip()
			continue
		}
		if s.null() {
			break
		}
		var n int64
		if n, err = s.int(); err == nil && n > 0 {
			return uint64(n), true, nil
		}
		break
	}
	if errors.Is(err, errCut) && len(data) < f.head+f.length {
		return 0, false, nil
	}
	if err == nil {
		err = errors.New("the server answers without saying to what: " + excerpt(data[f.head:]))
	}
	return 0, false, err
}

// unasked takes pings, which it answers, and pongs; at the server's goodbye it fails.
func unasked(data []byte) (taken int, reply []byte, err error) {
	f, known, err := readFrame(data)
	if !known || err != nil || f.kind < frameClose || len(data) < f.head+f.length {
		return 0, nil, err
	}
	content := data[f.head : f.head+f.length]
	switch f.kind {
	case framePing:
		reply = appendFrame(nil, framePong, content)
	case framePong:
	case frameClose:
		if len(content) > 2 {
			return 0, nil, fmt.Errorf("the server closes the connection: %q: %w", content[2:], io.EOF)
		}
		return 0, nil, io.EOF
	default:
		return 0, nil, fmt.Errorf("the answer is not WebSocket: a frame of kind %d", f.kind)
	}
	return f.head + f.length, reply, nil
}

// receive takes the content of a message as it comes and leaves it in the call's record. What it says is for the caller to read.
func receive(call *wire.Call, data []byte) (taken int, done bool, err error) {
	if call == nil {
		return 0, false, errors.New("an answer came that nobody waits for")
	}
	if call.Left == 0 {
		f, known, err := readFrame(data)
		if !known || err != nil {
			return 0, false, err
		}
		if f.kind != frameBinary || !f.final || f.length == 0 {
			return 0, false, fmt.Errorf("the answer is not one message in binary: kind %d, final %t, %d bytes", f.kind, f.final, f.length)
		}
		call.Left, taken = f.length, f.head
	}
	piece := data[taken:min(len(data), taken+call.Left)]
	call.Record.Bytes = append(call.Record.Bytes, piece...)
	call.Left -= len(piece)
	return taken + len(piece), call.Left == 0, nil
}

// exchange sends a message and receives its answer on a connection that nobody else uses yet.
func exchange(ctx context.Context, conn net.Conn, message []byte) (answer []byte, err error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(past) })
	defer func() {
		if !stop() && err != nil {
			err = fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}()
	if _, err := conn.Write(appendFrame(nil, frameBinary, message)); err != nil {
		return nil, err
	}
	var call wire.Call
	var received []byte
	block := make([]byte, 4<<10)
	for {
		n, err := conn.Read(block)
		if err != nil {
			return nil, err
		}
		received = append(received, block[:n]...)
		for len(received) > 0 {
			taken, done := 0, false
			if call.Left == 0 {
				var reply []byte
				if taken, reply, err = unasked(received); err == nil && len(reply) > 0 {
					_, err = conn.Write(reply)
				}
			}
			if err == nil && taken == 0 {
				taken, done, err = receive(&call, received)
			}
			if err != nil {
				return nil, err
			}
			if done {
				return call.Record.Bytes, nil
			}
			if taken == 0 {
				break
			}
			received = received[taken:]
		}
	}
}

// excerpt shows the first bytes of something, for errors.
func excerpt(data []byte) string {
	const most = 60
	return fmt.Sprintf("%q", data[:min(len(data), most)])
}
