package tile

func machineKernels() []*Kernel { return nil }
