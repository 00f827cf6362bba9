//go:build openblas

// Command openblas compares how long the exact answer of nearest-neighbour searches takes with how long OpenBLAS takes for the bare matrix
// multiplication of the same shape, with the same instruction set and as many threads:
//
//	go run -tags openblas ./bench/vector/openblas -kernel avx2
//
// It needs cgo and Debian's libopenblas-dev, and is no part of the product.
package main

/*
#cgo LDFLAGS: -lopenblas
#include <cblas-openblas.h>
*/
import "C"

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/vector"
	"github.com/durabench/durabench/bench/vector/tile"
)

// cores are the names by which OpenBLAS is told which instruction set to use.
var cores = map[string]string{"avx2": "HASWELL", "avx512": "SKYLAKEX", "go": "HASWELL"}

func main() {
	log.SetFlags(0)
	name := flag.String("kernel", tile.Kernels()[0].Name, "kernel of ours: avx512, avx2 or go")
	rows := flag.Int("rows", 100_000, "rows of the corpus")
	dim := flag.Int("dim", 768, "components of a vector")
	queries := flag.Int("queries", 1000, "query vectors")
	k := flag.Int("k", 10, "neighbours per query")
	metric := flag.String("metric", "cosine", "metric")
	threads := flag.Int("threads", 2, "threads of each")
	turns := flag.Int("turns", 5, "how often each is measured, in turn")
	flag.Parse()
	// OpenBLAS chooses its kernel when the process starts.
	if core := cores[*name]; os.Getenv("OPENBLAS_CORETYPE") != core {
		os.Setenv("OPENBLAS_CORETYPE", core)
		os.Setenv("OPENBLAS_NUM_THREADS", "1") // the threads are ours: its own burn time waiting for each other
		self, err := os.Executable()
		if err == nil {
			err = syscall.Exec(self, os.Args, os.Environ())
		}
		log.Fatal(err)
	}
	kernel, err := tile.Named(*name)
	if err != nil {
		log.Fatal(err)
	}
	template, err := corpus.ParseTemplate(map[string]any{"v": fmt.Sprintf("vector:%d:clustered:200", *dim)})
	if err != nil {
		log.Fatal(err)
	}
	c, err := corpus.New(1, template, corpus.KeyInteger, false)
	if err != nil {
		log.Fatal(err)
	}
	p := vector.Problem{Corpus: c, Rows: uint64(*rows), Field: query.Path{"v"}, Metric: query.Metric(*metric), K: *k}
	if p.Queries, err = vector.Queries(c, p.Field, 42, *queries); err != nil {
		log.Fatal(err)
	}
	b := newBLAS(c, p.Queries, *rows, *dim, *threads)
	var ours, making, theirs []spent
	for range *turns {
		theirs = append(theirs, measure(b.multiply))
		making = append(making, measure(func() { generate(c, *rows, *threads) }))
		ours = append(ours, measure(func() {
			if _, err := vector.Compute(context.Background(), p, vector.Options{Workers: *threads, Kernel: kernel}); err != nil {
				log.Fatal(err)
			}
		}))
	}
	t, m, o := median(theirs), median(making), median(ours)
	flops := 2 * float64(*rows) * float64(*dim) * float64(*queries)
	fmt.Printf("%d rows × %d components × %d queries, k = %d, %s, %d threads, medians of %d\n", *rows, *dim, *queries, *k, *metric, *threads, *turns)
	fmt.Printf("%-34s %8s %8s %22s\n", "", "wall", "CPU", "GFLOP per CPU second")
	print := func(what string, s spent) {
		fmt.Printf("%-34s %8.3f %8.3f %22.1f\n", what, s.wall.Seconds(), s.cpu.Seconds(), flops/1e9/s.cpu.Seconds())
	}
	print("sgemm, OpenBLAS "+C.GoString(C.openblas_get_corename()), t)
	print("exact answer, "+kernel.Name, o)
	print("  of it making the rows", m)
	print("  the rest", spent{o.wall - m.wall, o.cpu - m.cpu})
	fmt.Printf("the rest ÷ sgemm: %.2f of the CPU time, %.2f of the wall time\n", (o.cpu-m.cpu).Seconds()/t.cpu.Seconds(), (o.wall-m.wall).Seconds()/t.wall.Seconds())
}

// spent is what something took.
type spent struct{ wall, cpu time.Duration }

func measure(f func()) spent {
	wall, cpu := time.Now(), cpuTime()
	f()
	return spent{time.Since(wall), cpuTime() - cpu}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// median is that of each.
func median(all []spent) spent {
	var wall, cpu []time.Duration
	for _, s := range all {
		wall, cpu = append(wall, s.wall), append(cpu, s.cpu)
	}
	slices.Sort(wall)
	slices.Sort(cpu)
	return spent{wall[len(wall)/2], cpu[len(cpu)/2]}
}

// generate makes the rows and forgets them.
func generate(c *corpus.Corpus, rows, threads int) {
	mask := c.Template().Mask([]int{0})
	share(rows, threads, func(from, to int) {
		var row corpus.Row
		for i := from; i < to; i++ {
			c.Columns(&row, uint64(i), 0, mask)
		}
	})
}

func share(rows, threads int, f func(from, to int)) {
	var running sync.WaitGroup
	for i := range threads {
		running.Go(func() { f(rows*i/threads, rows*(i+1)/threads) })
	}
	running.Wait()
}

// blas holds what is multiplied.
type blas struct {
	rows, dim, queries, threads int
	a, b                        []float32
	results                     [][]float32
}

// stripe is how many rows are multiplied at a time. The results of all would not fit into memory, and are not wanted.
const stripe = 8192

func newBLAS(c *corpus.Corpus, queries [][]float32, rows, dim, threads int) *blas {
	b := &blas{rows: rows, dim: dim, queries: len(queries), threads: threads, a: make([]float32, rows*dim)}
	share(rows, threads, func(from, to int) {
		var row corpus.Row
		for i := from; i < to; i++ {
			c.Row(&row, uint64(i), 0)
			copy(b.a[i*dim:], row.Columns[0].Floats())
		}
	})
	for _, q := range queries {
		b.b = append(b.b, q...)
	}
	for range threads {
		b.results = append(b.results, make([]float32, stripe*len(queries)))
	}
	return b
}

func (b *blas) multiply() {
	var running sync.WaitGroup
	for i := range b.threads {
		running.Go(func() {
			to := b.rows * (i + 1) / b.threads
			for from := b.rows * i / b.threads; from < to; from += stripe {
				C.cblas_sgemm(C.CblasRowMajor, C.CblasNoTrans, C.CblasTrans, C.blasint(min(stripe, to-from)), C.blasint(b.queries), C.blasint(b.dim), 1,
					(*C.float)(&b.a[from*b.dim]), C.blasint(b.dim), (*C.float)(&b.b[0]), C.blasint(b.dim), 0, (*C.float)(&b.results[i][0]), C.blasint(b.queries))
			}
		})
	}
	running.Wait()
}
