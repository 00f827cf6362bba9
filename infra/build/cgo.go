//go:build cgo

package build

const cgo = true
