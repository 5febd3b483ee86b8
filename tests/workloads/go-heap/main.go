// SPDX-License-Identifier: Apache-2.0

// go-heap grows a heap on command and reports its own figures of it: the other side of every
// comparison with a heap read from outside. One command a line on standard input, one answer each:
//
//	leak N     keep N blocks of 1 MiB
//	inline N   keep N blocks of 1 MiB, allocated in a function inlined into its caller
//	stacks N   keep N small blocks, each from a call stack of its own (use with GOHEAP_RATE=1)
//	garbage N  allocate N blocks of 1 MiB and drop them
//	gc         run a collection
//	nogc       no collection but by gc: writing a profile may cause one, which changes the next
//	rate N     set runtime.MemProfileRate: writing a profile at rate 1 takes seconds
//	profile    the text of /debug/pprof/heap?debug=1, as it is without another collection
//	pprof PATH the same as the endpoint's protobuf, into a file
//	symbols    "pc function file line" for each program counter of the profile, by the runtime
//
// Each answer ends with a line ".". GOHEAP_RATE sets runtime.MemProfileRate.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

var kept [][]byte

//go:noinline
func leak() { kept = append(kept, make([]byte, 1<<20)) }

func inlined() { kept = append(kept, make([]byte, 1<<20)) }

type box[T any] struct{ values []T }

func (b *box[T]) fill(n int) { b.values = make([]T, n) }

//go:noinline
func leakInlined() {
	inlined()
	var b box[byte]
	b.fill(1 << 20)
	kept = append(kept, b.values)
}

//go:noinline
func left(path uint, depth int) { branch(path, depth) }

//go:noinline
func right(path uint, depth int) { branch(path, depth) }

//go:noinline
func branch(path uint, depth int) {
	switch {
	case depth == 0:
		kept = append(kept, make([]byte, 64))
	case path&1 == 0:
		left(path>>1, depth-1)
	default:
		right(path>>1, depth-1)
	}
}

//go:noinline
func garbage() byte {
	block := make([]byte, 1<<20)
	kept = append(kept, block)
	kept = kept[:len(kept)-1]
	return block[len(block)/2]
}

func run(command, argument string) {
	n, _ := strconv.Atoi(argument)
	switch command {
	case "leak":
		for i := 0; i < n; i++ {
			leak()
		}
	case "inline":
		for i := 0; i < n; i++ {
			leakInlined()
		}
	case "stacks":
		for i := 0; i < n; i++ {
			branch(uint(i), 16)
		}
	case "garbage":
		for i := 0; i < n; i++ {
			garbage()
		}
	case "nogc":
		debug.SetGCPercent(-1)
	case "rate":
		runtime.MemProfileRate = n
	case "gc":
		runtime.GC()
	case "profile":
		writeProfile()
	case "pprof":
		writeProtobuf(argument)
	case "symbols":
		writeSymbols()
	}
}

func main() {
	if rate, err := strconv.Atoi(os.Getenv("GOHEAP_RATE")); err == nil {
		runtime.MemProfileRate = rate
	}
	fmt.Println("ready", os.Getpid())
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		run(words[0], strings.Join(words[1:], " "))
		fmt.Println(".")
	}
}
