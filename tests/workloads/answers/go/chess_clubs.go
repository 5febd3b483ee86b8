// SPDX-License-Identifier: Apache-2.0

// Keeps the games of chess clubs by their moves, so that a game can be shown as it was at any time. Every twenty moves the
// position is stored, and a game goes on from the latest position.
package main

import (
	"fmt"
	"math/rand"
	"net/http"
	_ "net/http/pprof"
	"time"
)

type move struct {
	number   int
	from, to string
	at       time.Time
}

type position struct {
	squares [64]byte
	after   int
}

type moveStore struct {
	moves     [][]move
	positions []position
}

type club struct {
	store  *moveStore
	chosen *rand.Rand
	shown  int
}

//go:noinline
func (s *moveStore) appendMove(game int, m move) {
	s.moves[game] = append(s.moves[game], m)
	if m.number%20 == 0 {
		s.storePosition(game, m.number)
	}
}

func (s *moveStore) storePosition(game, after int) {
	latest := &s.positions[game]
	for _, m := range s.since(game) {
		latest.squares[(m.number*7)%64] = m.to[0]
	}
	latest.after = after
}

func (s *moveStore) since(game int) []move {
	all, after := s.moves[game], s.positions[game].after
	for n := len(all); n > 0; n-- {
		if all[n-1].number <= after {
			return all[n:]
		}
	}
	return all
}

func (c *club) play(game, number int) {
	from := fmt.Sprintf("%c%d", 'a'+c.chosen.Intn(8), 1+c.chosen.Intn(8))
	to := fmt.Sprintf("%c%d", 'a'+c.chosen.Intn(8), 1+c.chosen.Intn(8))
	c.store.appendMove(game, move{number, from, to, time.Now()})
	c.shown += len(c.store.since(game))
}

func main() {
	go http.ListenAndServe("127.0.0.1:0", nil)
	const games = 1500
	c := &club{store: &moveStore{make([][]move, games), make([]position, games)}, chosen: rand.New(rand.NewSource(624))}
	begin := time.Now()
	for number := 0; ; time.Sleep(10 * time.Millisecond) {
		for ; float64(number) < time.Since(begin).Seconds()*9000; number++ {
			game := c.chosen.Intn(games) * (1 + c.chosen.Intn(games)) / games
			c.play(game, 1+len(c.store.moves[game]))
		}
	}
}
