// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"container/heap"
	"container/list"
	"fmt"
	"io"
	"sync"
	"time"
)

// The shapes in which services keep memory.

// One queue per user, and a queue of those that have something.
type parcel struct {
	weight int
	goods  []byte
}

var mailboxes = make(chan chan *parcel, 200)

func holdMailboxes() {
	for i := 0; i < 120; i++ {
		box := make(chan *parcel, count/120)
		for k := 0; k < count/120; k++ {
			box <- &parcel{k, block()}
		}
		mailboxes <- box
	}
	wait()
}

// A generic cache that throws away the least recently used: a map of elements of a list.
type entry[K comparable, V any] struct {
	key   K
	value V
}
type recent[K comparable, V any] struct {
	mu      sync.Mutex
	room    int
	entries map[K]*list.Element
	order   *list.List
}

func newRecent[K comparable, V any](room int) *recent[K, V] {
	return &recent[K, V]{room: room, entries: map[K]*list.Element{}, order: list.New()}
}

func (r *recent[K, V]) put(key K, value V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries[key] = r.order.PushFront(&entry[K, V]{key, value})
	if r.order.Len() > r.room {
		last := r.order.Back()
		delete(r.entries, last.Value.(*entry[K, V]).key)
		r.order.Remove(last)
	}
}

var thumbnails = newRecent[string, []byte](count)

func holdRecent() {
	for i := 0; i < count+100; i++ {
		thumbnails.put(fmt.Sprint("image", i), block())
	}
	wait()
}

// The last events, by value in one array, behind an interface.
type event struct {
	at   time.Time
	name string
	body []byte
}
type journal interface{ write(e event) }
type ring struct {
	slots [count]event
	next  int
}

func (r *ring) write(e event) {
	r.slots[r.next%count] = e
	r.next++
}

var history journal

func holdRing() {
	history = &ring{}
	for i := 0; i < count+500; i++ {
		history.write(event{time.Now(), "click", block()})
	}
	wait()
}

// Each connection has a writer of its own, which nobody flushes.
type subscriber struct {
	out  *bufio.Writer
	feed chan string
}

func (s *subscriber) stream() {
	for line := range s.feed {
		fmt.Fprintln(s.out, line)
	}
	s.out.Flush()
}

func holdWriters() {
	feeds := make(chan string)
	for i := 0; i < count/8; i++ {
		s := &subscriber{bufio.NewWriterSize(io.Discard, 16000), feeds}
		go s.stream()
		feeds <- "hello"
	}
	wait()
}

// Maps in maps: each tenant has a cache as a part of it, which nobody empties.
type shelf struct {
	sync.RWMutex
	results map[string][]byte
}
type tenant struct {
	name string
	shelf
}

var tenants = map[string]*tenant{}

func (t *tenant) answer(query string) {
	t.Lock()
	t.results[query] = block()
	t.Unlock()
}

func holdTenants() {
	for i := 0; i < 100; i++ {
		t := &tenant{name: fmt.Sprint("tenant", i), shelf: shelf{results: map[string][]byte{}}}
		tenants[t.name] = t
		for k := 0; k < count/100; k++ {
			t.answer(fmt.Sprint("query", k))
		}
	}
	wait()
}

// Subscribers that never leave: what they close over stays with them.
type bus struct {
	topics map[string][]func(string) int
}

var events = &bus{map[string][]func(string) int{}}

func (b *bus) subscribe(topic string, f func(string) int) {
	b.topics[topic] = append(b.topics[topic], f)
}

func open(i int) {
	page := block()
	events.subscribe(fmt.Sprint("topic", i%7), func(text string) int { return copy(page, text) })
}

func holdSubscribers() {
	for i := 0; i < count; i++ {
		open(i)
	}
	wait()
}

// A queue ordered by time that one goroutine owns: the classic retry loop.
type retry struct {
	due  time.Time
	body []byte
}
type retries []*retry

func (r retries) Len() int           { return len(r) }
func (r retries) Less(i, k int) bool { return r[i].due.Before(r[k].due) }
func (r retries) Swap(i, k int)      { r[i], r[k] = r[k], r[i] }
func (r *retries) Push(x any)        { *r = append(*r, x.(*retry)) }
func (r *retries) Pop() any {
	old := *r
	last := old[len(old)-1]
	*r = old[:len(old)-1]
	return last
}

type deliverer struct {
	failed  chan []byte
	waiting retries
}

func (d *deliverer) run() {
	tick := time.NewTicker(time.Hour)
	for n := 0; ; n++ {
		select {
		case body := <-d.failed:
			heap.Push(&d.waiting, &retry{time.Now().Add(time.Hour - time.Duration(n%997)*time.Second), body})
		case <-tick.C:
			fmt.Println(len(heap.Pop(&d.waiting).(*retry).body))
		}
	}
}

func holdRetries() {
	d := &deliverer{failed: make(chan []byte)}
	go d.run()
	for i := 0; i < count; i++ {
		d.failed <- block()
	}
	wait()
}
