// SPDX-License-Identifier: Apache-2.0

// leaky-go is a Go service that loses memory on purpose: at a given rate, from functions with
// names that a heap profile shows, with net/http/pprof as real services have it. It builds with
// the standard library alone.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"time"
)

const (
	mib      = 1 << 20
	pageSize = 4096
	// How often a paced leak pays its debt: short enough to be smooth at 500 MB/s.
	tick = 5 * time.Millisecond
)

// maxStacks keeps the longest route, two frames for each two bits, within the 32 frames that Go
// up to 1.22 keeps of a stack.
const maxStacks = 1 << 20

// smallOrder is what the first round leaks from each of many stacks: all of them are there long
// before a small limit is reached.
const smallOrder = 1 << 10

// orders never gets smaller.
var orders [][]byte

type options struct {
	listen    string
	rate      int64
	chunk     int
	limit     int64
	prefill   int64
	stacks    int
	sampling  int
	pageCache string
	waitStdin bool
}

func parseFlags() options {
	var o options
	var rateMB, limitMB, prefillMB int64
	flag.StringVar(&o.listen, "listen", "127.0.0.1:1777", "address of net/http/pprof; empty for none")
	flag.Int64Var(&rateMB, "rate", 10, "MiB to leak each second; 0 for as fast as possible")
	flag.IntVar(&o.chunk, "chunk", 64<<10, "bytes of one leaked object")
	flag.Int64Var(&limitMB, "limit-mb", 0, "stop after so many MiB and idle; 0 for never")
	flag.Int64Var(&prefillMB, "prefill-mb", 0, "leak so many MiB as fast as possible before the rate holds")
	flag.IntVar(&o.stacks, "stacks", 1, "distinct call stacks to leak from; the first round leaks 1 KiB from each at once")
	flag.IntVar(&o.sampling, "profile-rate", runtime.MemProfileRate, "runtime.MemProfileRate; 1 samples every allocation")
	flag.StringVar(&o.pageCache, "pagecache", "", "leak nothing, read this file again and again instead")
	flag.BoolVar(&o.waitStdin, "wait-stdin", false, "leak nothing until a byte comes on stdin; end when that closes")
	flag.Parse()
	o.rate = rateMB * mib
	o.limit = limitMB * mib
	o.prefill = prefillMB * mib
	if o.chunk < 1 || o.stacks < 1 || o.stacks > maxStacks || rateMB < 0 || limitMB < 0 || prefillMB < 0 {
		fmt.Fprintf(os.Stderr, "leaky-go: -chunk starts at 1, -stacks is 1 to %d, -rate, -prefill-mb and -limit-mb start at 0\n", maxStacks)
		os.Exit(2)
	}
	return o
}

// serve returns once the port is open, so that "listening" on stdout means it.
func serve(address string) {
	if address == "" {
		return
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatalf("leaky-go: %v", err)
	}
	fmt.Printf("leaky-go: pid %d listening on %s\n", os.Getpid(), listener.Addr())
	go func() { log.Fatal(http.Serve(listener, nil)) }()
}

// leakyCache keeps n bytes and touches every page: untouched memory is not charged.
//
//go:noinline
func leakyCache(n int) {
	order := make([]byte, n)
	for i := 0; i < n; i += pageSize {
		order[i] = 1
	}
	orders = append(orders, order)
}

// handleOrder is the frame to find. Its route, read two bits at a time, decides who calls whom
// from where, so that each route is a call stack of its own to the profiler.
//
//go:noinline
func handleOrder(n, route int) {
	switch {
	case route == 0:
		leakyCache(n)
	case route%2 == 0:
		routeLeft(n, route/2)
	default:
		routeRight(n, route/2)
	}
}

//go:noinline
func routeLeft(n, route int) {
	if route%2 == 0 {
		handleOrder(n, route/2)
	} else {
		handleOrder(n, route/2)
	}
}

//go:noinline
func routeRight(n, route int) {
	if route%2 == 0 {
		handleOrder(n, route/2)
	} else {
		handleOrder(n, route/2)
	}
}

// leakAtOnce leaks from every stack, then as much as asked, without a pace.
func leakAtOnce(o options) int64 {
	leaked := int64(0)
	for route := 0; o.stacks > 1 && route < o.stacks; route++ {
		handleOrder(smallOrder, route)
		leaked += smallOrder
	}
	for ; leaked < o.prefill; leaked += int64(o.chunk) {
		handleOrder(o.chunk, 0)
	}
	return leaked
}

func leak(o options) {
	leaked := leakAtOnce(o)
	start := time.Now()
	atOnce := leaked
	for order := 0; o.limit == 0 || leaked < o.limit; order++ {
		if o.rate > 0 {
			due := int64(time.Since(start).Seconds() * float64(o.rate))
			if leaked-atOnce >= due {
				time.Sleep(tick)
				continue
			}
		}
		handleOrder(o.chunk, order%o.stacks)
		leaked += int64(o.chunk)
	}
	fmt.Println("leaky-go: limit reached, idle")
}

// readAgainAndAgain fills the cgroup with page cache, which the kernel takes back when it must.
func readAgainAndAgain(path string) {
	buffer := make([]byte, mib)
	for {
		file, err := os.Open(path)
		if err != nil {
			log.Fatalf("leaky-go: %v", err)
		}
		if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, file, buffer); err != nil {
			log.Fatalf("leaky-go: %v", err)
		}
		file.Close()
	}
}

func main() {
	o := parseFlags()
	runtime.MemProfileRate = o.sampling
	serve(o.listen)
	if o.waitStdin {
		if _, err := io.ReadFull(os.Stdin, make([]byte, 1)); err != nil {
			log.Fatalf("leaky-go: %v", err)
		}
	}
	if o.pageCache != "" {
		readAgainAndAgain(o.pageCache)
	}
	leak(o)
	for {
		time.Sleep(time.Hour) // select {} would be a deadlock without a listener
	}
}
