// SPDX-License-Identifier: Apache-2.0

// Answers of a backend are kept by their whole address, which has the id of the request in it.
package main

import (
	"bytes"
	"fmt"
	"net/http"
	_ "net/http/pprof"
	"sync"
	"time"
)

type answer struct {
	header http.Header
	body   []byte
}

type responseCache struct {
	mutex sync.Mutex
	byURL map[string]*answer
}

func fetch(url string) *answer {
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("X-Request-Url", url)
	return &answer{header, bytes.Repeat([]byte(url), 30)}
}

//go:noinline
func (c *responseCache) get(url string) *answer {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.byURL[url] == nil {
		c.byURL[url] = fetch(url)
	}
	return c.byURL[url]
}

func main() {
	cache := &responseCache{byURL: map[string]*answer{}}
	garbage := 0
	begin := time.Now()
	for number := 0; ; time.Sleep(20 * time.Millisecond) {
		for ; float64(number) < time.Since(begin).Seconds()*900; number++ {
			a := cache.get(fmt.Sprintf("http://prices.example/v2/articles/%d?request=%x", number%70, number*104729))
			garbage += len(append([]byte("copy "), bytes.ToUpper(a.body)...))
		}
	}
}
