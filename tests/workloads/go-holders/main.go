// SPDX-License-Identifier: Apache-2.0

// Programs that keep memory in one known place: HOLD names it. Some 24 MB in all of them, beside garbage that a busy
// goroutine makes. Prints "ready" when it is held, then waits.
package main

import (
	"container/list"
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const count = 12000 // times 2,000 bytes

var forever = make(chan bool)

func ready() {
	runtime.GC()
	fmt.Println("ready", os.Getpid())
}

func wait() {
	ready()
	<-forever
}

func block() []byte { return make([]byte, 2000) }

func noise() {
	for {
		var all [][]byte
		for i := 0; i < 100; i++ {
			all = append(all, make([]byte, 512))
		}
		runtime.KeepAlive(all)
		time.Sleep(5 * time.Millisecond)
	}
}

type session struct {
	user string
	data []byte
}

var sessions = map[string]*session{}

func remember(i int) {
	s := &session{fmt.Sprint("user", i), block()}
	sessions[s.user] = s
}

func holdMap() {
	for i := 0; i < count; i++ {
		remember(i)
	}
	wait()
}

// The same, and 10 MB more in each second, to four times as much.
func holdGrowing() {
	for i := 0; i < 4*count; i++ {
		remember(i)
		if i == count {
			ready()
		}
		if i > count && i%50 == 0 {
			time.Sleep(10 * time.Millisecond)
		}
	}
	<-forever
}

type record struct {
	id   int
	body []byte
}
type batcher struct {
	name    string
	pending []*record
}

func (b *batcher) add(r *record) { b.pending = append(b.pending, r) }

func startBatcher(in chan int) {
	b := &batcher{name: "b"}
	go func() {
		for i := range in {
			b.add(&record{i, block()})
		}
		fmt.Println(len(b.pending))
	}()
}

func holdClosure() {
	in := make(chan int)
	startBatcher(in)
	for i := 0; i < count; i++ {
		in <- i
	}
	wait()
}

type job struct {
	id      int
	payload []byte
}
type server struct {
	jobs chan *job
	done chan bool
}

func (s *server) work() {
	for j := range s.jobs {
		if j.id >= 0 {
			<-s.done
		}
	}
}

func holdChannel() {
	s := &server{make(chan *job, count+10), make(chan bool)}
	go s.work()
	for i := 0; i < count; i++ {
		s.jobs <- &job{i, block()}
	}
	wait()
	runtime.KeepAlive(s)
}

type doc struct {
	raw  []byte
	name string
}
type item struct {
	val  *doc
	next *item
}
type queue struct {
	head, tail *item
	size       int
}
type store interface{ put(d *doc) }

func (q *queue) put(d *doc) {
	it := &item{val: d}
	if q.tail == nil {
		q.head = it
	} else {
		q.tail.next = it
	}
	q.tail = it
	q.size++
}

type exporter struct{ st store }

func (e *exporter) run() {
	for i := 0; i < count; i++ {
		e.st.put(&doc{raw: block()})
	}
	wait()
	e.st.put(nil)
}

func holdList() { (&exporter{&queue{}}).run() }

type buffer struct {
	b    []byte
	refs []*int
}

var buffers = sync.Pool{New: func() interface{} { return &buffer{b: block()} }}

func holdPool() {
	var all []*buffer
	for i := 0; i < count; i++ {
		all = append(all, buffers.Get().(*buffer))
	}
	runtime.GC()
	for _, b := range all {
		buffers.Put(b)
	}
	fmt.Println("ready", os.Getpid()) // two collections would empty the pool
	<-forever
}

type upload struct {
	id   int
	body []byte
}

func remind(i int) {
	u := &upload{i, block()}
	time.AfterFunc(10*time.Hour, func() { fmt.Println(u.id, len(u.body)) })
}

func holdTimer() {
	for i := 0; i < count; i++ {
		remind(i)
	}
	wait()
}

type answer struct{ page []byte }

func handle(out chan *answer) {
	a := &answer{make([]byte, 16000)}
	out <- a
	fmt.Println(len(a.page))
}

func holdGoroutines() {
	out := make(chan *answer)
	for i := 0; i < count/8; i++ {
		go handle(out)
	}
	time.Sleep(200 * time.Millisecond)
	wait()
}

// Cycles: each span knows its parent, its child and the store.
type node struct {
	name        string
	data        []byte
	kids        []*node
	parent      *node
	home        *forest
	grandparent *node
}
type forest struct{ roots []*node }

var woods forest

func holdTree() {
	var last *node
	for i := 0; i < count; i++ {
		n := &node{name: "n", data: block(), parent: last, home: &woods}
		if last != nil {
			last.kids = append(last.kids, n)
			n.grandparent = last.parent
		} else {
			woods.roots = append(woods.roots, n)
		}
		last = n
		if i%100 == 99 {
			last = nil
		}
	}
	last = nil
	wait()
}

type requestKey struct{}

func serveContext(ctx context.Context) {
	for i := 0; i < count; i++ {
		ctx = context.WithValue(ctx, requestKey{}, block())
	}
	wait()
	fmt.Println(ctx.Value(forever))
}

func holdContext() {
	go serveContext(context.Background())
	<-forever
}

type cache interface{ keep(i int) }
type lru struct {
	entries map[int][]byte
	order   []int
}

func (l *lru) keep(i int) {
	l.entries[i] = block()
	l.order = append(l.order, i)
}

var pages cache = &lru{entries: map[int][]byte{}}

func holdCache() {
	for i := 0; i < count; i++ {
		pages.keep(i)
	}
	wait()
}

var shared sync.Map

func holdSyncMap() {
	for i := 0; i < count; i++ {
		shared.Store(i, &session{"s", block()})
	}
	wait()
}

var elements = list.New()

func holdElements() {
	for i := 0; i < count; i++ {
		elements.PushBack(&record{i, block()})
	}
	wait()
}

type snapshot struct {
	parts [][]byte
	made  time.Time
}

var current atomic.Value

func holdAtomic() {
	s := &snapshot{made: time.Now()}
	for i := 0; i < count; i++ {
		s.parts = append(s.parts, block())
	}
	current.Store(s)
	wait()
}

var log [][]byte

func holdSlice() {
	for i := 0; i < count; i++ {
		log = append(log, block())
	}
	wait()
}

// A hub: all of them refer to one object, and it to none of them.
type hub struct{ label *string }
type spoke struct {
	center *hub
	data   []byte
}

var center = &hub{}

func holdSpokes() {
	var spokes []*spoke
	for i := 0; i < count; i++ {
		spokes = append(spokes, &spoke{center, block()})
	}
	wait()
	fmt.Println(spokes[0], spokes[count-1])
}

// Memory that nothing but finalizers keeps.
type handle2 struct{ p *int }

var handles []*handle2

func finish(i int) {
	data := block()
	h := &handle2{new(int)}
	runtime.SetFinalizer(h, func(*handle2) { fmt.Println(i, len(data)) })
	handles = append(handles, h)
}

func holdFinalizers() {
	for i := 0; i < count; i++ {
		finish(i)
	}
	wait()
}

type small struct {
	next *small
	data *[40]byte
}

var longest *small

// 600,000 elements: 40 MB.
func holdLongList() {
	for i := 0; i < 600000; i++ {
		longest = &small{longest, new([40]byte)}
	}
	wait()
}

func main() {
	holds := map[string]func(){"map": holdMap, "growing": holdGrowing, "closure": holdClosure, "channel": holdChannel, "list": holdList,
		"pool": holdPool, "timer": holdTimer, "goroutines": holdGoroutines, "tree": holdTree, "context": holdContext,
		"cache": holdCache, "syncmap": holdSyncMap, "elements": holdElements, "atomic": holdAtomic, "slice": holdSlice,
		"spokes": holdSpokes, "finalizers": holdFinalizers, "longlist": holdLongList, "mailboxes": holdMailboxes,
		"recent": holdRecent, "ring": holdRing, "writers": holdWriters, "tenants": holdTenants,
		"subscribers": holdSubscribers, "retries": holdRetries, "dropped": holdDropped, "deferred": holdDeferred, "pointed": holdPointed}
	go noise()
	holds[os.Getenv("HOLD")]()
}
