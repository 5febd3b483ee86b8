// SPDX-License-Identifier: Apache-2.0

// A healthy service: it keeps a working set, answers requests, runs a batch now and then, warms a cache.
package main

import (
	"flag"
	"math"
	"math/rand"
)

// store is the working set: loaded at the start, then entries replace each other. From -rise-after on it is larger.
type store struct {
	holdMB, riseMB                      float64
	loadSeconds, riseAfter, riseSeconds float64
	churnKBs                            float64
	entryKB                             int
	entries                             [][]byte
}

func (s *store) flags() {
	flag.Float64Var(&s.holdMB, "hold-mb", 0, "working set")
	flag.Float64Var(&s.loadSeconds, "load-seconds", 2, "time that loading it takes")
	flag.Float64Var(&s.churnKBs, "churn-kb-s", 500, "of it that is replaced each second")
	flag.IntVar(&s.entryKB, "entry-kb", 16, "mean size of an entry")
	flag.Float64Var(&s.riseMB, "rise-mb", 0, "by so much the working set grows once")
	flag.Float64Var(&s.riseAfter, "rise-after", 20, "seconds after the start")
	flag.Float64Var(&s.riseSeconds, "rise-seconds", 5, "time that the rise takes")
}

func (s *store) isWanted() bool { return s.holdMB > 0 }

//go:noinline
func (s *store) loadEntry(random *rand.Rand) int {
	entry := block(about(random, s.entryKB*kib))
	s.entries = append(s.entries, entry)
	return len(entry)
}

//go:noinline
func (s *store) replaceEntry(random *rand.Rand) int {
	i := random.Intn(len(s.entries))
	s.entries[i] = block(len(s.entries[i]))
	return len(s.entries[i])
}

func (s *store) run(random *rand.Rand) {
	load := func() int { return s.loadEntry(random) }
	pace(s.holdMB*mib, steadily(s.holdMB*mib/math.Max(s.loadSeconds, 0.1)), load)
	replace := func() int { return s.replaceEntry(random) }
	if s.riseMB > 0 {
		pace(s.churnKBs*kib*math.Max(s.riseAfter-s.loadSeconds, 0.1), steadily(s.churnKBs*kib), replace)
		pace(s.riseMB*mib, steadily(s.riseMB*mib/math.Max(s.riseSeconds, 0.1)), load)
	}
	pace(0, steadily(s.churnKBs*kib), replace)
}

// traffic is the garbage of requests, each handled in one of many call stacks.
type traffic struct {
	garbageMBs float64
	requestKB  int
	sites      uint
	inFlight   int
	open       [][][]byte // what the requests under way hold
}

func (t *traffic) flags() {
	flag.Float64Var(&t.garbageMBs, "garbage-mb-s", 0, "allocated by requests each second")
	flag.IntVar(&t.requestKB, "request-kb", 64, "mean size of a request")
	flag.UintVar(&t.sites, "sites", 40, "call stacks that handle requests")
	flag.IntVar(&t.inFlight, "in-flight", 20, "requests under way")
}

func (t *traffic) isWanted() bool { return t.garbageMBs > 0 }

//go:noinline
func parseRequest(n int) []byte { return block(n) }

//go:noinline
func renderAnswer(n int) []byte { return block(n) }

// Two bits of the route a call: each route is a call stack of its own to the profiler.
//
//go:noinline
func handle(n int, route uint) [][]byte {
	switch {
	case route <= 1:
		return [][]byte{parseRequest(n / 2), renderAnswer(n / 2)}
	case route%2 == 0:
		return handleRead(n, route/2)
	default:
		return handleWrite(n, route/2)
	}
}

//go:noinline
func handleRead(n int, route uint) [][]byte { return handle(n, route) }

//go:noinline
func handleWrite(n int, route uint) [][]byte { return handle(n, route) }

func (t *traffic) run(random *rand.Rand) {
	t.open = make([][][]byte, t.inFlight+1)
	next := 0
	pace(0, steadily(t.garbageMBs*mib), func() int {
		n := about(random, t.requestKB*kib)
		t.open[next] = handle(n, 1+uint(random.Intn(int(t.sites))))
		next = (next + 1) % len(t.open)
		return n
	})
}

// batch takes memory now and then and gives it back: reports, compactions, imports.
// With -batch-lost a share of each stays, in a list of failures that is never read.
type batch struct {
	mb, every, seconds, lost float64
	failures                 [][]byte
}

func (b *batch) flags() {
	flag.Float64Var(&b.mb, "batch-mb", 0, "that a periodic batch takes")
	flag.Float64Var(&b.every, "batch-every", 8, "seconds from one batch to the next")
	flag.Float64Var(&b.seconds, "batch-seconds", 2, "time in which a batch fills its memory")
	flag.Float64Var(&b.lost, "batch-lost", 0, "share of each that is never given back")
}

func (b *batch) isWanted() bool { return b.mb > 0 }

//go:noinline
func loadRows(n int) []byte { return block(n) }

func (b *batch) run(random *rand.Rand) {
	for {
		var rows [][]byte
		pace(b.mb*mib, steadily(b.mb*mib/b.seconds), func() int {
			rows = append(rows, loadRows(about(random, 32*kib)))
			return len(rows[len(rows)-1])
		})
		b.failures = append(b.failures, rows[:int(b.lost*float64(len(rows)))]...)
		rows = nil
		sleepSeconds(math.Max(b.every-b.seconds, 0.1) * (0.8 + 0.4*random.Float64()))
	}
}

// saw is a buffer that fills and is flushed, without end.
type saw struct {
	mb, seconds float64
}

func (s *saw) flags() {
	flag.Float64Var(&s.mb, "saw-mb", 0, "size at which a buffer is flushed")
	flag.Float64Var(&s.seconds, "saw-seconds", 6, "time that filling it takes")
}

func (s *saw) isWanted() bool { return s.mb > 0 }

//go:noinline
func bufferRecord(n int) []byte { return block(n) }

func (s *saw) run(random *rand.Rand) {
	for {
		var buffer [][]byte
		pace(s.mb*mib, steadily(s.mb*mib/s.seconds), func() int {
			buffer = append(buffer, bufferRecord(about(random, 8*kib)))
			return len(buffer[len(buffer)-1])
		})
	}
}

// warmUp is a cache that fills ever slower (-warm-mb), or steadily (-grow-mb), until all is in it.
type warmUp struct {
	warmMB, warmSeconds, growMB, growSeconds float64
	cache                                    map[int][]byte
}

func (w *warmUp) flags() {
	flag.Float64Var(&w.warmMB, "warm-mb", 0, "that a cache holds once it is warm")
	flag.Float64Var(&w.warmSeconds, "warm-seconds", 8, "after which 63 % of it are there")
	flag.Float64Var(&w.growMB, "grow-mb", 0, "that a cache holds which fills at one rate and is full then")
	flag.Float64Var(&w.growSeconds, "grow-seconds", 20, "time that filling it takes")
}

func (w *warmUp) isWanted() bool { return w.warmMB > 0 || w.growMB > 0 }

//go:noinline
func (w *warmUp) fillCache(n int) {
	w.cache[len(w.cache)] = block(n)
}

func (w *warmUp) run(random *rand.Rand) {
	w.cache = map[int][]byte{}
	fill := func() int {
		n := about(random, 12*kib)
		w.fillCache(n)
		return n
	}
	if w.growMB > 0 {
		pace(w.growMB*mib, steadily(w.growMB*mib/w.growSeconds), fill)
	}
	if w.warmMB > 0 {
		pace(0, func(seconds float64) float64 { return w.warmMB * mib * (1 - math.Exp(-seconds/w.warmSeconds)) }, fill)
	}
}
