// SPDX-License-Identifier: Apache-2.0

// Invites the guests of an event, all in one request: a few hundred for 25 seconds, then those of a fair.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	_ "net/http/pprof"
	"sort"
	"time"
)

type guest struct {
	Name    string   `json:"name"`
	Mail    string   `json:"mail"`
	Seat    int      `json:"seat"`
	Options []string `json:"options"`
}

type invitations struct {
	sent int
}

func (i *invitations) decodeGuests(body io.Reader) ([]*guest, error) {
	var guests []*guest
	decoder := json.NewDecoder(body)
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	for decoder.More() {
		g := &guest{}
		if err := decoder.Decode(g); err != nil {
			return nil, err
		}
		guests = append(guests, g)
	}
	return guests, nil
}

func (i *invitations) invite(w http.ResponseWriter, r *http.Request) {
	guests, err := i.decodeGuests(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	sort.Slice(guests, func(a, b int) bool { return guests[a].Name < guests[b].Name })
	i.sent += len(guests)
	fmt.Fprintf(w, "%d invited", len(guests))
}

// The list is written while it is sent: who sends it does not hold it.
func guestList(count int) io.Reader {
	reader, writer := io.Pipe()
	go func() {
		var line bytes.Buffer
		for n := 0; n < count; n++ {
			line.Reset()
			fmt.Fprintf(&line, `%c{"name":"guest %d","mail":"guest-%d@example.com","seat":%d,"options":["vegan","parking %d"]}`,
				"[,"[min(n, 1)], n*7919%count, n, n, n)
			writer.Write(line.Bytes())
		}
		writer.Write([]byte("]"))
		writer.Close()
	}()
	return reader
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}

func main() {
	service := &invitations{}
	http.HandleFunc("/invite", service.invite)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go http.Serve(listener, nil)
	for event := 0; ; event++ {
		count := 400
		if event == 250 {
			count = 2_000_000
		}
		response, err := http.Post("http://"+listener.Addr().String()+"/invite", "application/json", guestList(count))
		if err != nil {
			panic(err)
		}
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
		time.Sleep(95 * time.Millisecond)
	}
}
