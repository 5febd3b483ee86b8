// SPDX-License-Identifier: Apache-2.0

// Each delivery is tried again after ten minutes unless it is confirmed; the timers of those that are confirmed go on.
package main

import (
	"bytes"
	"net/http"
	_ "net/http/pprof"
	"time"
)

type delivery struct {
	to        string
	body      []byte
	confirmed bool
}

func (d *delivery) send() { d.confirmed = len(d.body) > 0 }

func (d *delivery) retry() {
	if !d.confirmed {
		d.send()
	}
}

//go:noinline
func encodeDelivery(number int) *delivery {
	return &delivery{to: "https://shop.example/hook", body: bytes.Repeat([]byte("order line;"), 80+number%40)}
}

func schedule(number int) {
	d := encodeDelivery(number)
	d.send()
	time.AfterFunc(10*time.Minute, d.retry)
}

func main() {
	go http.ListenAndServe("127.0.0.1:0", nil)
	begin := time.Now()
	for number := 0; ; time.Sleep(20 * time.Millisecond) {
		for ; float64(number) < time.Since(begin).Seconds()*2200; number++ {
			schedule(number)
		}
	}
}
