// SPDX-License-Identifier: Apache-2.0

// Healthy: as many carts are open as there are customers, who are more by day than by night.
package main

import (
	"fmt"
	"math"
	"net/http"
	_ "net/http/pprof"
	"time"
)

type cart struct {
	customer string
	articles []string
	prices   [60]float64
}

func openCart(number int) *cart {
	c := &cart{customer: fmt.Sprintf("customer %d", number)}
	for n := 0; n < 4; n++ {
		c.articles = append(c.articles, fmt.Sprintf("article %d", number*7+n))
	}
	return c
}

func main() {
	go http.ListenAndServe("127.0.0.1:0", nil)
	open, begin := map[int]*cart{}, time.Now()
	for first, next := 0, 0; ; time.Sleep(20 * time.Millisecond) {
		day := time.Since(begin).Seconds() / 14
		customers := 14_000 + int(8_000*math.Sin(2*math.Pi*day))
		for n := 0; n < 60; n++ {
			open[next] = openCart(next)
			next++
		}
		for ; next-first > customers; first++ {
			delete(open, first)
		}
	}
}
