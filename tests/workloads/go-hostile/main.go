// SPDX-License-Identifier: Apache-2.0

// go-hostile is a Go program that lies about its heap, or becomes another program:
//
//	go-hostile loop      a list of three buckets that ends where it begins
//	go-hostile self      a bucket that is its own successor
//	go-hostile deep      a bucket with 2^62 program counters
//	go-hostile long      2,000,000 buckets, each of them valid
//	go-hostile pages     60,000 valid buckets, each on a page of its own
//	go-hostile liar      buckets whose hash is not that of their stack
//	go-hostile unmapped  a list that goes on where nothing is mapped
//	go-hostile plain     no lie: the list as the runtime made it
//	go-hostile exec DELAY PROGRAM ARG...   leaks 16 MiB honestly, sleeps, and execs
//
// The lists have right hashes unless the mode breaks them: whoever can write into the
// memory of a process can compute them. Every mode but exec prints "laid out", then fills memory
// outside Go's heap until it is killed. Needs Go's own linker and a version before 1.23, which
// still lets a program name a variable of the runtime.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
	"unsafe"
)

//go:linkname mbuckets runtime.mbuckets
var mbuckets unsafe.Pointer

var kept [][]byte

// leakBeforeExec is a name that no profile of the next program may hold.
//
//go:noinline
func leakBeforeExec() {
	for i := 0; i < 16; i++ {
		block := make([]byte, 1<<20)
		for at := 0; at < len(block); at += 4096 {
			block[at] = 1
		}
		kept = append(kept, block)
	}
}

func become(delay string, argv []string) {
	leakBeforeExec()
	pause, err := time.ParseDuration(delay)
	if err != nil {
		fail(err)
	}
	time.Sleep(pause)
	fail(syscall.Exec(argv[0], argv, os.Environ()))
}

// pages are not Go's heap: no bucket of the runtime's own comes of them.
func pages(bytes int) []byte {
	block, err := syscall.Mmap(-1, 0, bytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		fail(err)
	}
	return block
}

func fillUntilKilled() {
	for {
		block := pages(1 << 20)
		for at := 0; at < len(block); at += 4096 {
			block[at] = 1
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "go-hostile:", err)
	os.Exit(1)
}

func main() {
	if len(os.Args) > 3 && os.Args[1] == "exec" {
		become(os.Args[2], os.Args[3:])
	}
	if len(os.Args) != 2 || layouts[os.Args[1]] == nil && os.Args[1] != "plain" {
		fmt.Fprintln(os.Stderr, "usage: go-hostile loop|self|deep|long|pages|liar|unmapped|plain | exec DELAY PROGRAM ARG...")
		os.Exit(2)
	}
	// A collection would walk the list, too, and end this process first; a sample would add to it.
	debug.SetGCPercent(-1)
	keepProfile()
	if layout := layouts[os.Args[1]]; layout != nil {
		runtime.MemProfileRate = 1 << 40
		mbuckets = layout()
	}
	fmt.Println("laid out")
	fillUntilKilled()
}
