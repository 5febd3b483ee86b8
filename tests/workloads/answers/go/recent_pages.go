// SPDX-License-Identifier: Apache-2.0

// Healthy: the 6000 pages that were used last stay; each rendering leaves garbage.
package main

import (
	"bytes"
	"container/list"
	"fmt"
	_ "net/http/pprof"
	"time"
)

type page struct {
	number int
	body   []byte
}

type recentPages struct {
	order    *list.List
	byNumber map[int]*list.Element
}

//go:noinline
func (r *recentPages) read(number int) *page {
	if element := r.byNumber[number]; element != nil {
		r.order.MoveToFront(element)
		return element.Value.(*page)
	}
	p := &page{number, bytes.Repeat([]byte(fmt.Sprintf("page %d ", number)), 300)}
	r.byNumber[number] = r.order.PushFront(p)
	if r.order.Len() > 6000 {
		last := r.order.Remove(r.order.Back()).(*page)
		delete(r.byNumber, last.number)
	}
	return p
}

func main() {
	recent := &recentPages{list.New(), map[int]*list.Element{}}
	rendered := 0
	begin := time.Now()
	for number := 0; ; time.Sleep(20 * time.Millisecond) {
		for ; float64(number) < time.Since(begin).Seconds()*2500; number++ {
			p := recent.read(number * 7919 % 20011)
			rendered += len(bytes.ToUpper(p.body))
		}
	}
}
