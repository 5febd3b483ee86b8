// SPDX-License-Identifier: Apache-2.0

// Consumes batches of meter readings from a queue and adds them up by household. Each batch is measured: a span says how long
// it took and which households were in it.
package main

import (
	"fmt"
	"math/rand"
	"net/http"
	_ "net/http/pprof"
	"time"
)

type reading struct {
	household int
	watts     float64
}

type span struct {
	name       string
	began      time.Time
	took       time.Duration
	households map[int]float64
	events     []string
}

//go:noinline
func startSpan(number int) *span {
	return &span{name: fmt.Sprintf("batch-%d", number), began: time.Now(), households: map[int]float64{}}
}

func (s *span) event(format string, values ...any) {
	s.events = append(s.events, fmt.Sprintf(format, values...))
}

func (s *span) end() {
	s.took = time.Since(s.began)
}

type meterQueue struct {
	batches chan []reading
}

func (q *meterQueue) fill(chosen *rand.Rand) {
	begin := time.Now()
	for number := 0; ; time.Sleep(10 * time.Millisecond) {
		for ; float64(number) < time.Since(begin).Seconds()*800; number++ {
			batch := make([]reading, 20+chosen.Intn(20))
			for n := range batch {
				batch[n] = reading{chosen.Intn(4000), chosen.Float64() * 3000}
			}
			q.batches <- batch
		}
	}
}

type totals struct {
	byHousehold []float64
}

func (t *totals) consume(q *meterQueue) {
	for number := 0; ; number++ {
		batch := <-q.batches
		s := startSpan(number)
		defer s.end()
		for _, r := range batch {
			t.byHousehold[r.household] += r.watts
			s.households[r.household] += r.watts
		}
		s.event("%d readings of %d households", len(batch), len(s.households))
	}
}

func main() {
	go http.ListenAndServe("127.0.0.1:0", nil)
	q := &meterQueue{batches: make(chan []reading, 100)}
	go q.fill(rand.New(rand.NewSource(621)))
	t := &totals{byHousehold: make([]float64, 4000)}
	t.consume(q)
}
