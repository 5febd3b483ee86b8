// SPDX-License-Identifier: Apache-2.0

// Takes the orders of market stalls for their wholesalers. A stall's orders of a day are kept until the day is over, and a day
// is eight seconds; of the days before only the sums are known.
package main

import (
	"fmt"
	"math/rand"
	"net/http"
	_ "net/http/pprof"
	"time"
)

type line struct {
	article string
	crates  int
	note    []byte
}

type stall struct {
	number int
	lines  []line
	opened float64
	sums   [16]int
}

type market struct {
	stalls []*stall
	chosen *rand.Rand
	days   int
}

func (m *market) order(now float64) {
	s := m.stalls[m.chosen.Intn(len(m.stalls))]
	if now-s.opened > 8 {
		for _, l := range s.lines {
			s.sums[m.days%16] += l.crates
		}
		s.lines, s.opened = nil, now
		m.days++
	}
	note := []byte(fmt.Sprintf("%-260s", fmt.Sprintf("for stall %d, before six please", s.number)))
	s.lines = append(s.lines, line{fmt.Sprintf("article-%05d", m.chosen.Intn(40000)), 1 + m.chosen.Intn(30), note})
}

func main() {
	go http.ListenAndServe("127.0.0.1:0", nil)
	m := &market{chosen: rand.New(rand.NewSource(725))}
	for n := 0; n < 600; n++ {
		m.stalls = append(m.stalls, &stall{number: n, opened: float64(n) / 75})
	}
	begin := time.Now()
	for number := 0; ; time.Sleep(10 * time.Millisecond) {
		for passed := time.Since(begin).Seconds(); float64(number) < passed*15000; number++ {
			m.order(passed)
		}
	}
}
