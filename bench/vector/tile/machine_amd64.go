package tile

import "golang.org/x/sys/cpu"

// machineKernels returns the kernels for the instruction sets that the processor and the operating system have.
func machineKernels() []*Kernel {
	var kernels []*Kernel
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX2 {
		kernels = append(kernels, &Kernel{
			Name: "avx512",
			ops: [2]shape{
				Product:    {rows: 12, cols: 32, run: assembled(productAVX512)},
				Difference: {rows: 8, cols: 32, run: assembled(differenceAVX512)},
			},
			choose: assembledChoose(chooseAVX512),
		})
	}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		kernels = append(kernels, &Kernel{
			Name: "avx2",
			ops: [2]shape{
				Product:    {rows: 6, cols: 16, run: assembled(productAVX2)},
				Difference: {rows: 4, cols: 16, run: assembled(differenceAVX2)},
			},
			choose: assembledChoose(chooseAVX2),
		})
	}
	return kernels
}

func assembled(run func(k int, rows *float32, stride int, panel, scores *float32, add bool)) func(int, []float32, int, []float32, []float32, bool) {
	return func(k int, rows []float32, stride int, panel, scores []float32, add bool) {
		run(k, &rows[0], stride, &panel[0], &scores[0], add)
	}
}

func assembledChoose(choose func(n int, masks *uint32, scores, slack, bias, scale, limit *float32)) func([]uint32, []float32, []float32, []float32, []float32, []float32) {
	return func(masks []uint32, scores, slack, bias, scale, limit []float32) {
		choose(len(masks), &masks[0], &scores[0], &slack[0], &bias[0], &scale[0], &limit[0])
	}
}
