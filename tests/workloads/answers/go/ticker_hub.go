// SPDX-License-Identifier: Apache-2.0

// Quotes for those who watch a share. A quote that a watcher has no room for is dropped. Who goes away stops to receive, and
// stays among the watchers with all that its channel has room for.
package main

import (
	"fmt"
	"net/http"
	_ "net/http/pprof"
	"sync"
	"time"
)

type quote struct {
	share string
	cents int
	depth [24]int64
}

type watcher struct {
	name   string
	quotes chan *quote
	done   chan struct{}
}

type hub struct {
	mutex    sync.Mutex
	watchers map[string][]*watcher
	dropped  int
}

func (h *hub) watch(share, name string) *watcher {
	w := &watcher{name, make(chan *quote, 128), make(chan struct{})}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.watchers[share] = append(h.watchers[share], w)
	return w
}

func (h *hub) publish(share string, cents int) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, w := range h.watchers[share] {
		q := &quote{share: share, cents: cents}
		for n := range q.depth {
			q.depth[n] = int64(cents + n)
		}
		select {
		case w.quotes <- q:
		default:
			h.dropped++
		}
	}
}

func (w *watcher) receive() {
	for {
		select {
		case <-w.quotes:
		case <-w.done:
			return
		}
	}
}

func main() {
	go http.ListenAndServe("127.0.0.1:0", nil)
	h, begin := &hub{watchers: map[string][]*watcher{}}, time.Now()
	for step := 0; ; time.Sleep(5 * time.Millisecond) {
		for ; float64(step) < time.Since(begin).Seconds()*100; step++ {
			share := fmt.Sprintf("share %d", step%50)
			if step%2 == 0 {
				w := h.watch(share, fmt.Sprintf("watcher %d", step))
				go w.receive()
				time.AfterFunc(2*time.Second, func() { close(w.done) })
			}
			for n := 0; n < 10; n++ {
				h.publish(fmt.Sprintf("share %d", (step*10+n)%50), 9000+step%700)
			}
		}
	}
}
