// SPDX-License-Identifier: Apache-2.0

// service-go is a web service with five endpoints, of which one keeps a data set for each request: /reports. It asks
// itself for all of them in turn, over loopback. It builds with the standard library alone.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof" // without it the program keeps no heap profile
	"runtime"
	"strings"
	"sync"
	"time"
)

// cache never gets smaller.
type cache struct {
	mu      sync.Mutex
	reports map[string][]byte
}

func (c *cache) put(key string, rows int) []byte {
	var data bytes.Buffer
	for row := 0; row < rows; row++ {
		fmt.Fprintf(&data, "%s;%d;%s\n", key, row, strings.Repeat("x", 100))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reports[key] = data.Bytes()
	return c.reports[key]
}

type server struct{ kept cache }

func (s *server) report(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintln(w, len(s.kept.put(r.URL.RawQuery, 2000)))
}

func index(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, len(make([]byte, 256<<10))) }
func search(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintln(w, strings.Repeat(r.URL.RawQuery, 4096))
}
func orders(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 64<<10)) }
func health(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }

func logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Asked-At", time.Now().String())
		next.ServeHTTP(w, r)
	})
}

func routes(s *server) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", index)
	mux.HandleFunc("/search", search)
	mux.HandleFunc("/orders", orders)
	mux.HandleFunc("/health", health)
	mux.HandleFunc("/reports", s.report)
	return logged(mux)
}

func ask(base string, path string) {
	answer, err := http.Get(base + path)
	if err != nil {
		log.Print(err)
		time.Sleep(time.Second)
		return
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
}

func main() {
	pause := flag.Duration("pause", 10*time.Millisecond, "between two rounds of requests")
	flag.IntVar(&runtime.MemProfileRate, "profile-rate", runtime.MemProfileRate, "runtime.MemProfileRate")
	flag.Parse()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	s := &server{cache{reports: map[string][]byte{}}}
	go func() { log.Fatal(http.Serve(listener, routes(s))) }()
	base := "http://" + listener.Addr().String()
	for round := 0; ; round++ {
		for _, path := range []string{"/", "/search?q=cart", "/orders", "/health", fmt.Sprintf("/reports?n=%d", round)} {
			ask(base, path)
		}
		time.Sleep(*pause)
	}
}
