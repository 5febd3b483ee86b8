// SPDX-License-Identifier: Apache-2.0

// Healthy: four workers make plans of shifts and give them to a ring of the last 2000, which is what may be asked for.
package main

import (
	"fmt"
	"math/rand"
	"net/http"
	_ "net/http/pprof"
	"time"
)

type shift struct {
	employee string
	hours    [14]float32
}

type plan struct {
	department int
	shifts     []*shift
}

type ring struct {
	plans []*plan
	next  int
}

func (r *ring) add(p *plan) {
	r.plans[r.next] = p
	r.next = (r.next + 1) % len(r.plans)
}

func makePlan(department int, noise *rand.Rand) *plan {
	var best *plan
	for attempt := 0; attempt < 4; attempt++ {
		p := &plan{department: department}
		for n := 0; n < 160; n++ {
			s := &shift{employee: fmt.Sprintf("employee %d", department*160+n)}
			for day := range s.hours {
				s.hours[day] = noise.Float32() * 8
			}
			p.shifts = append(p.shifts, s)
		}
		if best == nil || p.shifts[0].hours[0] > best.shifts[0].hours[0] {
			best = p
		}
	}
	return best
}

func main() {
	go http.ListenAndServe("127.0.0.1:0", nil)
	departments, plans := make(chan int), make(chan *plan, 16)
	for n := 0; n < 4; n++ {
		go func(noise *rand.Rand) {
			for department := range departments {
				plans <- makePlan(department, noise)
			}
		}(rand.New(rand.NewSource(int64(95 + n))))
	}
	go func() {
		for department := 0; ; department++ {
			departments <- department % 400
			time.Sleep(12 * time.Millisecond)
		}
	}()
	for r := (&ring{plans: make([]*plan, 2000)}); ; {
		r.add(<-plans)
	}
}
