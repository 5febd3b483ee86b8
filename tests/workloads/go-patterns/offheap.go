// SPDX-License-Identifier: Apache-2.0

// Memory of a Go service that no heap profile shows: mapped, on the stacks of goroutines, in files of a tmpfs.
package main

import (
	"flag"
	"log"
	"math/rand"
	"os"
	"strconv"
	"syscall"
)

// mapped takes memory as cgo libraries and memory-mapped caches do.
type mapped struct {
	kbs, freed float64
	blockKB    int
}

func (m *mapped) flags() {
	flag.Float64Var(&m.kbs, "mmap-kb-s", 0, "mapped each second beside the Go heap")
	flag.IntVar(&m.blockKB, "mmap-block-kb", 256, "size of a mapping")
	flag.Float64Var(&m.freed, "mmap-freed", 0, "share of the mappings that is unmapped at once")
}

func (m *mapped) isWanted() bool { return m.kbs > 0 }

func (m *mapped) run(random *rand.Rand) {
	pace(0, steadily(m.kbs*kib), func() int {
		made, err := syscall.Mmap(-1, 0, m.blockKB*kib, syscall.PROT_READ|syscall.PROT_WRITE,
			syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			log.Fatalf("go-patterns: %v", err)
		}
		for i := 0; i < len(made); i += pageSize {
			made[i] = 1
		}
		if random.Float64() < m.freed {
			syscall.Munmap(made)
		}
		return m.blockKB * kib
	})
}

// stacks starts goroutines that go deep and stay there.
type stacks struct {
	perSecond float64
	depth     int
}

func (s *stacks) flags() {
	flag.Float64Var(&s.perSecond, "stacks-per-s", 0, "goroutines that stay deep in their stack, started each second")
	flag.IntVar(&s.depth, "stack-depth", 100, "calls, each of a frame of 1 KiB")
}

func (s *stacks) isWanted() bool { return s.perSecond > 0 }

//go:noinline
func descend(depth int) byte {
	var frame [kib]byte
	frame[depth%kib] = 1
	if depth == 0 {
		<-make(chan bool)
		return frame[0]
	}
	return descend(depth-1) + frame[depth%kib]
}

func (s *stacks) run(*rand.Rand) {
	pace(0, steadily(s.perSecond), func() int {
		go descend(s.depth)
		return 1
	})
}

// writer appends to a file; with -file-rotate-kb to one after the other, none of which is removed.
type writer struct {
	path     string
	kbs      float64
	rotateKB int
	file     *os.File
	written  int // to all files
}

func (w *writer) flags() {
	flag.StringVar(&w.path, "file", "", "that grows")
	flag.Float64Var(&w.kbs, "file-kb-s", 1000, "written to it each second")
	flag.IntVar(&w.rotateKB, "file-rotate-kb", 0, "a multiple of 64, after which the next file begins; 0 for one file")
}

func (w *writer) isWanted() bool { return w.path != "" }

func (w *writer) open(path string) {
	file, err := os.Create(path)
	if err != nil {
		log.Fatalf("go-patterns: %v", err)
	}
	w.file = file
}

func (w *writer) rotate() {
	w.file.Close()
	w.open(w.path + "." + strconv.Itoa(w.written/(w.rotateKB*kib)))
}

func (w *writer) run(*rand.Rand) {
	w.open(w.path)
	line := block(64 * kib)
	pace(0, steadily(w.kbs*kib), func() int {
		if _, err := w.file.Write(line); err != nil {
			log.Fatalf("go-patterns: %v", err)
		}
		w.written += len(line)
		if w.rotateKB > 0 && w.written%(w.rotateKB*kib) == 0 {
			w.rotate()
		}
		return len(line)
	})
}
