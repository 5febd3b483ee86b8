// SPDX-License-Identifier: Apache-2.0
package main

import (
	"flag"
	"math/rand"
	"strconv"
)

// cache takes new entries all the time and is to hold -cache-mb of them at most, the oldest going first. With
// -cache-broken they are put under one key and evicted under another, so that none ever goes.
type cache struct {
	mb, kbs  float64
	entryKB  int
	isBroken bool
	entries  map[string][]byte
	order    []cached
	put      int
	bytes    int // as the cache itself counts: right only where eviction works
}

type cached struct {
	key   string
	bytes int
}

func (c *cache) flags() {
	flag.Float64Var(&c.mb, "cache-mb", 0, "that a cache with eviction may hold")
	flag.Float64Var(&c.kbs, "cache-kb-s", 2000, "put into it each second")
	flag.IntVar(&c.entryKB, "cache-entry-kb", 12, "mean size of its entries")
	flag.BoolVar(&c.isBroken, "cache-broken", false, "evicts under a key that no entry has")
}

func (c *cache) isWanted() bool { return c.mb > 0 }

//go:noinline
func (c *cache) keepAnswer(key string, n int) { c.entries[key] = block(n) }

func (c *cache) evict() {
	oldest := c.order[0]
	c.order = c.order[1:]
	c.bytes -= oldest.bytes
	if c.isBroken {
		oldest.key = "/" + oldest.key
	}
	delete(c.entries, oldest.key)
}

func (c *cache) run(random *rand.Rand) {
	c.entries = map[string][]byte{}
	pace(0, steadily(c.kbs*kib), func() int {
		next := cached{"orders/" + strconv.Itoa(c.put), about(random, c.entryKB*kib)}
		c.put++
		c.keepAnswer(next.key, next.bytes)
		c.order = append(c.order, next)
		for c.bytes += next.bytes; float64(c.bytes) > c.mb*mib; {
			c.evict()
		}
		return next.bytes
	})
}
