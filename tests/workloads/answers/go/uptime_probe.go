// SPDX-License-Identifier: Apache-2.0

// Asks the services of a company whether they are up, over HTTP, thirty in a second, and keeps the last status of each. A
// service is up if it answers with 200.
package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	_ "net/http/pprof"
	"strings"
	"sync"
	"time"
)

type status struct {
	up     bool
	took   time.Duration
	checks int
}

type board struct {
	mu     sync.Mutex
	latest map[string]status
}

func (b *board) set(name string, up bool, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.latest[name] = status{up, took, b.latest[name].checks + 1}
}

type prober struct {
	client *http.Client
	board  *board
	base   string
}

func (p *prober) checkService(name string) {
	began := time.Now()
	response, err := p.client.Get(p.base + "/" + name + "/health")
	if err != nil {
		p.board.set(name, false, time.Since(began))
		return
	}
	p.board.set(name, response.StatusCode == http.StatusOK, time.Since(began))
}

func health(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/service-13/") {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	for n := 0; n < 60; n++ {
		fmt.Fprintf(w, "%s: component %d is well\n", r.URL.Path, n)
	}
}

func main() {
	services := httptest.NewServer(http.HandlerFunc(health))
	p := &prober{client: &http.Client{Timeout: 5 * time.Minute}, board: &board{latest: map[string]status{}}, base: services.URL}
	begin := time.Now()
	for number := 0; ; time.Sleep(10 * time.Millisecond) {
		for ; float64(number) < time.Since(begin).Seconds()*30; number++ {
			p.checkService(fmt.Sprintf("service-%d", number%40))
		}
	}
}
