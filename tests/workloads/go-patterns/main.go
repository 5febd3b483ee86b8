// SPDX-License-Identifier: Apache-2.0

// go-patterns is a Go service whose memory follows its flags, several things at once if asked: a working set, the
// garbage of requests, a leak of some kind, a burst, a batch, a cache that fills. The corpus of labelled runs is made of
// it. Same flags and same seed: the same sizes in the same order, though not the same collections.
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"time"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	// Untouched memory is not charged.
	pageSize = 4096
	// How often a paced part checks whether it is behind.
	tick = 10 * time.Millisecond
)

// part is one thing that the service does all the time, from its start on; run does not return before it is done.
type part interface {
	flags()
	isWanted() bool
	run(random *rand.Rand)
}

func parts() []part {
	// Their order is part of each one's seed: new ones go to the end.
	return []part{&store{}, &traffic{}, &leak{}, &burst{}, &batch{}, &saw{}, &warmUp{}, &mapped{}, &stacks{}, &writer{},
		&cache{}, &queue{}, &logins{}, &connections{}, &answer{}, &table{}}
}

// block is n bytes that are really there.
func block(n int) []byte {
	made := make([]byte, n)
	for i := 0; i < n; i += pageSize {
		made[i] = 1
	}
	return made
}

// about is n give or take a half, never 0.
func about(random *rand.Rand, n int) int {
	return 1 + n/2 + random.Intn(n+1)
}

// pace calls step, which returns how much it did, so often that the sum keeps up with what is due after so many seconds.
// Ends when `total` is reached; 0 is never.
func pace(total float64, due func(seconds float64) float64, step func() int) {
	start := time.Now()
	for done := 0.0; total == 0 || done < total; {
		if done >= due(time.Since(start).Seconds()) {
			time.Sleep(tick)
			continue
		}
		done += float64(step())
	}
}

func steadily(perSecond float64) func(float64) float64 {
	return func(seconds float64) float64 { return perSecond * seconds }
}

func sleepSeconds(seconds float64) {
	time.Sleep(time.Duration(seconds * float64(time.Second)))
}

// serve returns once the port is open. The profile is reachable as in real services.
func serve(address string) {
	if address == "" {
		return
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatalf("go-patterns: %v", err)
	}
	go func() { log.Fatal(http.Serve(listener, nil)) }()
}

func main() {
	all := parts()
	for _, p := range all {
		p.flags()
	}
	listen := flag.String("listen", "127.0.0.1:6060", "address of net/http/pprof; empty for none")
	seed := flag.Int64("seed", 1, "of all sizes and their order")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "go-patterns: takes flags only")
		os.Exit(2)
	}
	serve(*listen)
	for i, p := range all {
		if p.isWanted() {
			go p.run(rand.New(rand.NewSource(*seed*1000 + int64(i))))
		}
	}
	fmt.Println("ready")
	for {
		time.Sleep(time.Hour)
	}
}
