// SPDX-License-Identifier: Apache-2.0

// Nothing leaks: six workers make small pictures of large ones. From the 25th second on the cameras are replaced, one after
// the other, by some whose pictures are up to four times as large.
package main

import (
	"net/http"
	_ "net/http/pprof"
	"time"
)

type picture struct {
	width, height int
	pixels        []byte
}

//go:noinline
func decodePicture(width, height, number int) *picture {
	p := &picture{width, height, make([]byte, width*height*3)}
	for i := range p.pixels {
		p.pixels[i] = byte(i * number)
	}
	return p
}

//go:noinline
func resize(from *picture, by int) *picture {
	to := &picture{from.width / by, from.height / by, make([]byte, from.width/by*(from.height/by)*3)}
	for i := range to.pixels {
		to.pixels[i] = from.pixels[i*by]
	}
	return to
}

func work(worker int, begin time.Time) {
	time.Sleep(time.Duration(worker) * 60 * time.Millisecond)
	for number := worker; ; number++ {
		scale := 1.0
		if age := time.Since(begin).Seconds(); age > 25 {
			scale = 1 + (age-25)*0.03
		}
		large := decodePicture(int(900*min(scale, 2)), int(600*min(scale, 2)), number)
		small := resize(large, 3)
		time.Sleep(300 * time.Millisecond) // it is sent
		large.pixels[0] = small.pixels[0]
	}
}

func min(a, b float64) float64 {
	if a < b {
		return a
	}
	return b
}

func main() {
	begin := time.Now()
	for worker := 0; worker < 6; worker++ {
		go work(worker, begin)
	}
	http.ListenAndServe("127.0.0.1:0", nil)
}
