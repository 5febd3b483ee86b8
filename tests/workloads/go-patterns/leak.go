// SPDX-License-Identifier: Apache-2.0

// The ways in which Go services lose memory. Each keeps what it should have let go of, in a function of its own.
package main

import (
	"flag"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"time"
)

type leak struct {
	kind    string
	kbs     float64
	blockKB int
	after   float64
	keep    func(n int)
}

var leakKinds = map[string]func(n int){
	"map":       openSession,
	"slice":     appendAudit,
	"timer":     scheduleCleanup,
	"goroutine": waitForAnswer,
	"subslice":  rememberHeader,
	"label":     countUser,
}

func (l *leak) flags() {
	flag.StringVar(&l.kind, "leak", "", "map, slice, timer, goroutine, subslice or label")
	flag.Float64Var(&l.kbs, "leak-kb-s", 1000, "that it loses each second")
	flag.IntVar(&l.blockKB, "leak-block-kb", 8, "mean size of a lost object")
	flag.Float64Var(&l.after, "leak-after", 0, "seconds without a leak")
}

func (l *leak) isWanted() bool { return l.kind != "" }

func (l *leak) run(random *rand.Rand) {
	l.keep = leakKinds[l.kind]
	if l.keep == nil {
		fmt.Fprintf(os.Stderr, "go-patterns: no leak %q\n", l.kind)
		os.Exit(2)
	}
	sleepSeconds(l.after)
	pace(0, steadily(l.kbs*kib), func() int {
		n := about(random, l.blockKB*kib)
		l.keep(n)
		return n
	})
}

var sessions = map[string][]byte{}

// A session that never ends: the map grows.
//
//go:noinline
func openSession(n int) {
	sessions["session-"+strconv.Itoa(len(sessions))] = block(n)
}

var audit [][]byte

//go:noinline
func appendAudit(n int) {
	audit = append(audit, block(n))
}

// The timer of a day keeps what its function holds.
//
//go:noinline
func scheduleCleanup(n int) {
	request := block(n)
	time.AfterFunc(24*time.Hour, func() { request[0]++ })
}

// A goroutine for an answer that never comes keeps its request.
//
//go:noinline
func waitForAnswer(n int) {
	request, answer := block(n), make(chan bool)
	go func() {
		<-answer
		request[0]++
	}()
}

var headers [][]byte

// Sixteen bytes of a message keep all of it.
//
//go:noinline
func rememberHeader(n int) {
	headers = append(headers, block(n)[:16])
}

var histograms = map[string][]uint64{}

// A histogram for each user, as if users were few: what metrics become when an id is made a label.
//
//go:noinline
func countUser(n int) {
	buckets := make([]uint64, 1+n/8)
	buckets[len(buckets)-1]++
	histograms["latency{user=\""+strconv.Itoa(len(histograms))+"\"}"] = buckets
}
