// SPDX-License-Identifier: Apache-2.0

// Sells tickets of ferries: a ferry leaves each second, tickets are sold for the next fifteen, and whoever has a ticket may
// look at it until the ferry has left.
package main

import (
	"fmt"
	"math/rand"
	"net/http"
	_ "net/http/pprof"
	"time"
)

type ticket struct {
	number  int
	name    string
	cars    []string
	printed []byte
}

type ferry struct {
	leaves  int
	tickets map[int]*ticket
}

type harbour struct {
	next   [16]*ferry
	chosen *rand.Rand
	sailed int
}

func (h *harbour) sell(number, second int) *ticket {
	leaves := second + 1 + h.chosen.Intn(15)
	f := h.next[leaves%16]
	if f == nil || f.leaves != leaves {
		if f != nil {
			h.sailed += len(f.tickets)
		}
		f = &ferry{leaves: leaves, tickets: map[int]*ticket{}}
		h.next[leaves%16] = f
	}
	t := &ticket{number: number, name: fmt.Sprintf("passenger %d", h.chosen.Intn(100000))}
	for n := 0; n < h.chosen.Intn(3); n++ {
		t.cars = append(t.cars, fmt.Sprintf("car %06d", h.chosen.Intn(1000000)))
	}
	t.printed = []byte(fmt.Sprintf("%-400s", t.name+" with "+fmt.Sprint(t.cars)))
	f.tickets[number] = t
	return t
}

func main() {
	go http.ListenAndServe("127.0.0.1:0", nil)
	h := &harbour{chosen: rand.New(rand.NewSource(625))}
	begin, letters := time.Now(), 0
	for number := 0; ; time.Sleep(10 * time.Millisecond) {
		for passed := time.Since(begin).Seconds(); float64(number) < passed*2600; number++ {
			letters += len(h.sell(number, int(passed)).printed)
		}
	}
}
