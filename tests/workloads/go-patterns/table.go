// SPDX-License-Identifier: Apache-2.0
package main

import (
	"flag"
	"math/rand"
)

// table is read anew now and then: the next one is built beside that in use, which it replaces. From the third on each
// is larger by -table-grow-mb than the first two.
type table struct {
	mb, growMB, every, seconds float64
	rows                       map[int][]byte
}

func (t *table) flags() {
	flag.Float64Var(&t.mb, "table-mb", 0, "size of a table that is replaced as a whole")
	flag.Float64Var(&t.growMB, "table-grow-mb", 0, "by which it is larger from the third time on")
	flag.Float64Var(&t.every, "table-every", 10, "seconds between two of them")
	flag.Float64Var(&t.seconds, "table-seconds", 2, "time that building one takes")
}

func (t *table) isWanted() bool { return t.mb > 0 }

//go:noinline
func importRow(n int) []byte { return block(n) }

func (t *table) build(random *rand.Rand, bytes float64) map[int][]byte {
	rows := map[int][]byte{}
	pace(bytes, steadily(bytes/t.seconds), func() int {
		row := importRow(about(random, 8*kib))
		rows[len(rows)] = row
		return len(row)
	})
	return rows
}

func (t *table) run(random *rand.Rand) {
	for n := 0; ; n++ {
		bytes := t.mb * mib
		if n >= 2 {
			bytes += t.growMB * mib
		}
		t.rows = t.build(random, bytes)
		sleepSeconds(t.every)
	}
}
