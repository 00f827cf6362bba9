package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The format is NumPy's (numpy.lib.format, versions 1.0 to 3.0): "\x93NUMPY", two bytes of version, the length of the header in two bytes, in four from
// version 2.0 on, and the header, a Python dict with the keys descr, fortran_order and shape; then the elements one after another. The one
// reader in Go that is kept (codeberg.org/sbinet/npyio) comes with matrices and a Python unpickler and reads whole arrays; here a header is all there is to read.

const npyMagic = "\x93NUMPY"

// npyElements are the types of elements that are read, by descr.
var npyElements = map[string]element{
	"<f4": float32s, "<f8": float64s, "<f2": float16s, "|u1": uint8s, "|i1": int8s, "<i4": int32s, "<i8": int64s,
}

// npyHeader matches the header. Its keys may stand in any order, and each is matched alone.
var (
	npyHeader = regexp.MustCompile(`^\{.*\}\s*$`)
	npyDescr  = regexp.MustCompile(`['"]descr['"]\s*:\s*['"]([^'"]*)['"]`)
	npyOrder  = regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)`)
	npyShape  = regexp.MustCompile(`['"]shape['"]\s*:\s*\(([^)]*)\)`)
)

// npy finds the shape of an array of two dimensions in C order: a vector in each row.
func npy(data []byte) (shape, error) {
	header, head, err := npyHead(data)
	if err != nil {
		return shape{}, err
	}
	descr, order, size := npyDescr.FindStringSubmatch(header), npyOrder.FindStringSubmatch(header), npyShape.FindStringSubmatch(header)
	if !npyHeader.MatchString(header) || order == nil || size == nil {
		return shape{}, fmt.Errorf("its header %.200q does not say the fortran_order and shape of an array", header)
	}
	if descr == nil {
		return shape{}, fmt.Errorf("its header %.200q names no single type of elements", header)
	}
	e, known := npyElements[descr[1]]
	if !known {
		return shape{}, fmt.Errorf("its elements are of type %q: known are <f4, <f8, <f2, |u1 and |i1, and <i4 and <i8 for neighbours", descr[1])
	}
	if order[1] == "True" {
		return shape{}, errors.New("it is in Fortran order, column by column: write it with numpy.ascontiguousarray")
	}
	count, dim, err := npyRows(size[1])
	if err != nil {
		return shape{}, err
	}
	if count > (len(data)+1)/(dim*e.size()) || head+count*dim*e.size() != len(data) {
		return shape{}, fmt.Errorf("its %d bytes are not the %d of its head and %d × %d elements of %d bytes each", len(data), head, count, dim, e.size())
	}
	return shape{element: e, head: head, stride: dim * e.size(), count: count, dim: dim}, nil
}

// npyHead returns the header's text, and at which byte the elements begin.
func npyHead(data []byte) (header string, end int, err error) {
	const short, long = len(npyMagic) + 2 + 2, len(npyMagic) + 2 + 4
	if len(data) < long || string(data[:len(npyMagic)]) != npyMagic {
		return "", 0, errors.New("it does not begin as NumPy's arrays do")
	}
	start, length := short, uint32(0)
	switch version := data[len(npyMagic)]; version {
	case 1:
		length = uint32(binary.LittleEndian.Uint16(data[short-2:]))
	case 2, 3:
		start, length = long, binary.LittleEndian.Uint32(data[long-4:])
	default:
		return "", 0, fmt.Errorf("it is of version %d of NumPy's format: known are 1 to 3", version)
	}
	if uint64(length) > uint64(len(data)-start) {
		return "", 0, fmt.Errorf("its %d bytes are fewer than its header of %d: it is cut off", len(data), length)
	}
	end = start + int(length)
	return string(data[start:end]), end, nil
}

// npyRows reads the two numbers of a shape.
func npyRows(text string) (count, dim int, err error) {
	parts := strings.Split(strings.TrimSuffix(strings.TrimSpace(text), ","), ",")
	if len(parts) != 2 {
		return 0, 0, fmt.Errorf("its shape is (%s): wanted are two dimensions, vectors and components", text)
	}
	count, errCount := strconv.Atoi(strings.TrimSpace(parts[0]))
	dim, errDim := strconv.Atoi(strings.TrimSpace(parts[1]))
	switch {
	case errCount != nil || errDim != nil || count < 0:
		return 0, 0, fmt.Errorf("its shape is (%s): wanted are two whole numbers", text)
	case count == 0:
		return 0, 0, fmt.Errorf("its shape is (%s): there are no vectors in it", text)
	case dim < 1 || dim > maxDim:
		return 0, 0, fmt.Errorf("its vectors have %d components: they are from 1 to %d", dim, maxDim)
	}
	return count, dim, nil
}
