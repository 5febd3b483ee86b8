// SPDX-License-Identifier: Apache-2.0

// A checkout service knows its requests in progress, for the page of slow ones. A basket that is refused leaves early, and
// its request stays in progress.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	_ "net/http/pprof"
	"strings"
	"sync"
	"time"
)

type basket struct {
	Customer string   `json:"customer"`
	Articles []string `json:"articles"`
	Voucher  string   `json:"voucher"`
}

type inFlight struct {
	began  time.Time
	path   string
	basket *basket
}

type checkout struct {
	requests sync.Map
}

func (c *checkout) readBasket(r *http.Request) (*basket, error) {
	var b basket
	return &b, json.NewDecoder(r.Body).Decode(&b)
}

func (c *checkout) pay(w http.ResponseWriter, r *http.Request) {
	b, err := c.readBasket(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	id := r.Header.Get("X-Request-Id")
	c.requests.Store(id, &inFlight{time.Now(), r.URL.Path, b})
	if b.Voucher != "" {
		http.Error(w, "the voucher was used", http.StatusConflict)
		return
	}
	fmt.Fprintf(w, "paid for %d articles", len(b.Articles))
	c.requests.Delete(id)
}

func shop(address string) {
	articles := make([]string, 40)
	for n := range articles {
		articles[n] = fmt.Sprintf("%q", fmt.Sprintf("article %d of the autumn catalogue", n*7919))
	}
	client, begin := &http.Client{}, time.Now()
	for number := 0; ; time.Sleep(10 * time.Millisecond) {
		for ; float64(number) < time.Since(begin).Seconds()*700; number++ {
			voucher := ""
			if number%2 == 0 {
				voucher = fmt.Sprintf("AUTUMN-%d", number%5)
			}
			body := fmt.Sprintf(`{"customer":"customer %d","articles":[%s],"voucher":%q}`,
				number%3000, strings.Join(articles, ","), voucher)
			request, _ := http.NewRequest("POST", address+"/pay", strings.NewReader(body))
			request.Header.Set("X-Request-Id", fmt.Sprintf("request-%d", number))
			if response, err := client.Do(request); err == nil {
				io.Copy(io.Discard, response.Body)
				response.Body.Close()
			}
		}
	}
}

func main() {
	service := &checkout{}
	http.HandleFunc("/pay", service.pay)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go shop("http://" + listener.Addr().String())
	panic(http.Serve(listener, nil))
}
