// SPDX-License-Identifier: Apache-2.0

// A service in balance: it holds one small block from each of many call stacks, replaces them, and collects at a
// steady pace. What reading such a heap costs is what a trend costs where nothing is wrong.
package main

import (
	"flag"
	"fmt"
	"runtime"
	"runtime/pprof"
	"time"
)

const blockBytes = 1024

// One call stack a number: each bit of it is a frame, left or right.
func left(number, bits int, keep *[]byte)  { descend(number, bits, keep) }
func right(number, bits int, keep *[]byte) { descend(number, bits, keep) }

func descend(number, bits int, keep *[]byte) {
	switch {
	case bits == 0:
		*keep = make([]byte, blockBytes)
	case number&1 == 0:
		left(number>>1, bits-1, keep)
	default:
		right(number>>1, bits-1, keep)
	}
}

func main() {
	stacks := flag.Int("stacks", 500, "call stacks that hold a block each")
	pause := flag.Duration("gc-every", 5*time.Second, "between two collections")
	flag.Parse()
	_ = pprof.Lookup("heap") // links the profile in
	// Before the first block: all are sampled, so that there are as many buckets in use as stacks.
	runtime.MemProfileRate = 1
	bits := 1
	for 1<<bits < *stacks {
		bits++
	}
	held := make([][]byte, *stacks)
	fmt.Println("ready")
	for {
		for i := range held {
			descend(i, bits, &held[i])
		}
		runtime.GC()
		time.Sleep(*pause)
	}
}
