// SPDX-License-Identifier: Apache-2.0
package main

import (
	"flag"
	"math/rand"
	"sync"
	"time"
)

// logins are users who come and, after a while, go. A share of them (-login-lost) leaves without a logout, and
// what they have open is never closed: the same line allocates what is freed and what is lost.
type logins struct {
	kbs, seconds, lost float64
	sizeKB             int
	mutex              sync.Mutex
	open               map[int][]byte
}

func (l *logins) flags() {
	flag.Float64Var(&l.kbs, "login-kb-s", 0, "that arriving users take each second")
	flag.Float64Var(&l.seconds, "login-seconds", 6, "mean time until one of them goes")
	flag.Float64Var(&l.lost, "login-lost", 0, "share of them whose memory is never given back")
	flag.IntVar(&l.sizeKB, "login-kb", 12, "mean size of what a user has open")
}

func (l *logins) isWanted() bool { return l.kbs > 0 }

//go:noinline
func (l *logins) logIn(user, n int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.open[user] = block(n)
}

func (l *logins) logOut(user int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	delete(l.open, user)
}

func (l *logins) run(random *rand.Rand) {
	l.open = map[int][]byte{}
	user := 0
	pace(0, steadily(l.kbs*kib), func() int {
		n := about(random, l.sizeKB*kib)
		user++
		gone := user
		l.logIn(gone, n)
		if random.Float64() >= l.lost {
			lasting := l.seconds * (0.5 + random.Float64())
			time.AfterFunc(time.Duration(lasting*float64(time.Second)), func() { l.logOut(gone) })
		}
		return n
	})
}
