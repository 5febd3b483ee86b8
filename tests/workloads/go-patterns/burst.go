// SPDX-License-Identifier: Apache-2.0
package main

import (
	"flag"
	"math"
	"math/rand"
)

// burst is one crowd of large requests within seconds; with -burst-hold they end and give all of it back.
type burst struct {
	mb, after, seconds, hold float64
	requestKB                int
	requests                 [][]byte
}

func (b *burst) flags() {
	flag.Float64Var(&b.mb, "burst-mb", 0, "that one burst of requests takes")
	flag.Float64Var(&b.after, "burst-after", 12, "seconds after the start")
	flag.Float64Var(&b.seconds, "burst-seconds", 2, "time in which it comes")
	flag.Float64Var(&b.hold, "burst-hold", 0, "seconds until all of it ends; 0 for never")
	flag.IntVar(&b.requestKB, "burst-request-kb", 512, "mean size of a request of the burst")
}

func (b *burst) isWanted() bool { return b.mb > 0 }

//go:noinline
func readUpload(n int) []byte { return block(n) }

func (b *burst) run(random *rand.Rand) {
	sleepSeconds(b.after)
	pace(b.mb*mib, steadily(b.mb*mib/math.Max(b.seconds, 0.1)), func() int {
		b.requests = append(b.requests, readUpload(about(random, b.requestKB*kib)))
		return len(b.requests[len(b.requests)-1])
	})
	if b.hold > 0 {
		sleepSeconds(b.hold)
		b.requests = nil
	}
}
