// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"runtime"
)

// Variables on a stack whose address is taken: no stack map names them.

// A store two steps below its variable, all of whose crates lead to all others.
type crate struct {
	before, after *crate
	goods         []byte
}
type row struct{ last *crate }
type depot struct{ row *row }

var stock *depot
var strays [200]*crate // keep the pages of what is dropped beside them

//go:noinline
func (s *row) put(c *crate) {
	c.before = s.last
	if s.last != nil {
		s.last.after = c
	}
	s.last = c
}

// A row of the stack's own was filled, read and dropped. It lies on in the frame, and the slots of its crates are
// taken by crates of the store.
func holdDropped() {
	var mine row
	for i := 0; i < len(strays); i++ {
		mine.put(&crate{})
		strays[i] = &crate{}
	}
	runtime.KeepAlive(mine.last)
	runtime.GC()
	runtime.GC()
	stock = &depot{&row{}}
	for i := 0; i < count; i++ {
		stock.row.put(&crate{goods: block()})
	}
	wait()
}

// What a deferred call will use alone holds: its variable is in no stack map. With more than eight of them each has a
// record on the stack.
func holdDeferred() {
	var kept []*crate
	defer func() { os.Exit(len(kept)) }()
	defer print()
	defer print()
	defer print()
	defer print()
	defer print()
	defer print()
	defer print()
	defer print()
	fill(&kept)
	wait()
}

//go:noinline
func fill(kept *[]*crate) {
	for i := 0; i < count; i++ {
		*kept = append(*kept, &crate{goods: block()})
	}
}

// A variable that code knows by a pointer alone, which the linker set. Those of its size lie beside it, and are known
// to code by their own addresses.
type ledger struct {
	title   [4]uint64
	entries [][]byte
	pages   uint64
}

var before, books, after ledger
var currentBooks = &books

//go:noinline
func closeOthers() {
	before.entries = append(before.entries, make([]byte, 1))
	after.entries = append(after.entries, make([]byte, 1))
	before.pages, after.pages = 1, 1
}

func holdPointed() {
	closeOthers()
	for i := 0; i < count; i++ {
		currentBooks.entries = append(currentBooks.entries, block())
	}
	wait()
}
