// SPDX-License-Identifier: Apache-2.0

// Each order has a context below that of the server, and nobody cancels it when the order is done.
package main

import (
	"context"
	"fmt"
	"net/http"
	_ "net/http/pprof"
	"time"
)

type orderKey struct{}

type order struct {
	number int
	lines  []string
	prices [20]float64
}

func decodeOrder(number int) *order {
	o := &order{number: number}
	for n := 0; n < 6; n++ {
		o.lines = append(o.lines, fmt.Sprintf("article %d, %d pieces", number*7+n, n+1))
	}
	return o
}

//go:noinline
func handleOrder(server context.Context, number int) error {
	ctx, _ := context.WithCancel(context.WithValue(server, orderKey{}, decodeOrder(number)))
	return charge(ctx)
}

func charge(ctx context.Context) error {
	if len(ctx.Value(orderKey{}).(*order).lines) == 0 {
		return fmt.Errorf("an order of nothing")
	}
	return ctx.Err()
}

func main() {
	go http.ListenAndServe("127.0.0.1:0", nil)
	server, stop := context.WithCancel(context.Background())
	defer stop()
	begin := time.Now()
	for number := 0; ; time.Sleep(20 * time.Millisecond) {
		for ; float64(number) < time.Since(begin).Seconds()*3000; number++ {
			if err := handleOrder(server, number); err != nil {
				panic(err)
			}
		}
	}
}
