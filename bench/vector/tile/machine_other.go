//go:build !amd64

package tile

// machineKernels returns the kernels for the machine's instruction set.
func machineKernels() []*Kernel { return nil }
