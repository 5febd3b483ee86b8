// SPDX-License-Identifier: Apache-2.0

// Nothing leaks: the robots of a warehouse, each with the path that it is to go, which is planned again when it has arrived.
// From the 28th second on the robots of a second hall are switched on, one after the other.
package main

import (
	"math/rand"
	"net/http"
	_ "net/http/pprof"
	"time"
)

type step struct {
	x, y, heading int32
	at            int64
}

type robot struct {
	number int
	path   []step
	done   int
}

type fleet struct {
	robots []*robot
	chosen *rand.Rand
	moved  int64
}

//go:noinline
func (f *fleet) planPath(r *robot) {
	path := make([]step, 0, 1400+f.chosen.Intn(400))
	x, y := int32(r.number%200), int32(r.number/200)
	for n := 0; n < cap(path); n++ {
		x, y = x+int32(f.chosen.Intn(3)-1), y+int32(f.chosen.Intn(3)-1)
		path = append(path, step{x, y, int32(n % 8), int64(n) * 120})
	}
	r.path, r.done = path, 0
}

func (f *fleet) switchOn() {
	r := &robot{number: len(f.robots)}
	f.planPath(r)
	r.done = f.chosen.Intn(len(r.path))
	f.robots = append(f.robots, r)
}

func (f *fleet) move() {
	for _, r := range f.robots {
		r.done += 20
		if r.done >= len(r.path) {
			f.planPath(r)
		}
		f.moved += int64(r.path[r.done].heading)
	}
}

func main() {
	go http.ListenAndServe("127.0.0.1:0", nil)
	f := &fleet{chosen: rand.New(rand.NewSource(520))}
	for len(f.robots) < 900 {
		f.switchOn()
	}
	begin := time.Now()
	for tick := 0; ; tick++ {
		f.move()
		for late := time.Since(begin).Seconds() - 28; late > 0 && len(f.robots) < 900+int(late*45) && len(f.robots) < 1500; {
			f.switchOn()
		}
		time.Sleep(100 * time.Millisecond)
	}
}
