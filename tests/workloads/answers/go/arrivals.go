// SPDX-License-Identifier: Apache-2.0

// Healthy: when the next buses come. Each stop knows the arrivals of the last half hour of a fast clock, in a ring; a board is
// rendered from it for who asks, and forgotten.
package main

import (
	"fmt"
	"math/rand"
	"net/http"
	_ "net/http/pprof"
	"strings"
	"time"
)

type arrival struct {
	line  string
	late  int
	notes []string
}

type busStop struct {
	name string
	ring []*arrival
	next int
}

func (s *busStop) add(a *arrival) {
	s.ring[s.next%len(s.ring)] = a
	s.next++
}

func (s *busStop) board() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n", s.name)
	for _, a := range s.ring {
		if a != nil {
			fmt.Fprintf(&text, "%s is %d minutes late: %s\n", a.line, a.late, strings.Join(a.notes, ", "))
		}
	}
	return text.String()
}

func main() {
	go http.ListenAndServe("127.0.0.1:0", nil)
	chosen := rand.New(rand.NewSource(522))
	stops := make([]*busStop, 800)
	for n := range stops {
		stops[n] = &busStop{name: fmt.Sprintf("stop %d", n), ring: make([]*arrival, 150)}
	}
	begin, rendered := time.Now(), 0
	for number := 0; ; time.Sleep(10 * time.Millisecond) {
		for ; float64(number) < time.Since(begin).Seconds()*12000; number++ {
			a := &arrival{line: fmt.Sprintf("line %d to the harbour", chosen.Intn(90)), late: chosen.Intn(20)}
			for n := 0; n < 3; n++ {
				a.notes = append(a.notes, fmt.Sprintf("bus %d of depot %d", chosen.Intn(9000), n))
			}
			stops[chosen.Intn(len(stops))].add(a)
		}
		rendered += len(stops[number%len(stops)].board())
	}
}
