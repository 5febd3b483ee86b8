// SPDX-License-Identifier: Apache-2.0

// A request asks three shops and takes the first price. The goroutines of the other two wait for ever to say theirs.
package main

import (
	"encoding/json"
	"fmt"
	_ "net/http/pprof"
	"time"
)

type offer struct {
	Shop  int
	Price float64
	Notes []string
}

//go:noinline
func askShop(shop, article int, prices chan<- float64) {
	offers := []offer{}
	for n := 0; n < 20; n++ {
		offers = append(offers, offer{shop, float64(article) * 1.19, []string{fmt.Sprint("delivery in days: ", n), "new"}})
	}
	text, _ := json.Marshal(offers)
	prices <- offers[0].Price + float64(len(text)%2)
	fmt.Println("told", string(text[:3]), offers[1].Notes)
}

func cheapest(article int) float64 {
	prices := make(chan float64)
	for shop := 0; shop < 3; shop++ {
		go askShop(shop, article, prices)
	}
	return <-prices
}

func main() {
	begin := time.Now()
	for number := 0; ; time.Sleep(20 * time.Millisecond) {
		for ; float64(number) < time.Since(begin).Seconds()*190; number++ {
			cheapest(number)
		}
	}
}
