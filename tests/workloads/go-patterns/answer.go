// SPDX-License-Identifier: Apache-2.0
package main

import (
	"flag"
	"math"
	"math/rand"
)

// answer is one that is larger than anybody thought: read into one growing buffer as io.ReadAll does, then decoded into
// records, while the buffer is there, too.
type answer struct {
	mb, after, seconds float64
	records            []string
}

const answerRecord = 512

func (a *answer) flags() {
	flag.Float64Var(&a.mb, "answer-mb", 0, "size of one answer from elsewhere")
	flag.Float64Var(&a.after, "answer-after", 18, "seconds after the start")
	flag.Float64Var(&a.seconds, "answer-seconds", 3, "time in which it arrives")
}

func (a *answer) isWanted() bool { return a.mb > 0 }

//go:noinline
func readAnswer(body, chunk []byte) []byte { return append(body, chunk...) }

//go:noinline
func decodeRecords(body []byte) []string {
	var records []string
	for ; len(body) >= answerRecord; body = body[answerRecord:] {
		records = append(records, string(body[:answerRecord]))
	}
	return records
}

func (a *answer) run(*rand.Rand) {
	sleepSeconds(a.after)
	var body []byte
	chunk := block(32 * kib)
	pace(a.mb*mib, steadily(a.mb*mib/math.Max(a.seconds, 0.1)), func() int {
		body = readAnswer(body, chunk)
		return len(chunk)
	})
	a.records = decodeRecords(body)
}
