// SPDX-License-Identifier: Apache-2.0
package main

import (
	"flag"
	"math/rand"
)

// queue is a channel of jobs between a producer and a consumer, each at a rate of its own. What is not done yet
// waits in it: without end where the work is slower.
type queue struct {
	madeKBs, doneKBs float64
	jobKB            int
	jobs             chan []byte
}

// Of the default size they are 1 GiB: no container here sees the channel full.
const queueJobs = 1 << 16

func (q *queue) flags() {
	flag.Float64Var(&q.madeKBs, "queue-kb-s", 0, "of jobs that come each second")
	flag.Float64Var(&q.doneKBs, "queue-done-kb-s", 0, "of jobs that are done each second")
	flag.IntVar(&q.jobKB, "queue-job-kb", 16, "mean size of a job")
}

func (q *queue) isWanted() bool { return q.madeKBs > 0 }

//go:noinline
func decodeJob(n int) []byte { return block(n) }

func (q *queue) work() {
	pace(0, steadily(q.doneKBs*kib), func() int {
		job := <-q.jobs
		return len(job)
	})
}

func (q *queue) run(random *rand.Rand) {
	q.jobs = make(chan []byte, queueJobs)
	go q.work()
	pace(0, steadily(q.madeKBs*kib), func() int {
		job := decodeJob(about(random, q.jobKB*kib))
		q.jobs <- job
		return len(job)
	})
}
