// SPDX-License-Identifier: Apache-2.0

// Finds the place of an address, and remembers the 3000 that were asked for last: a map for finding them and a list for their
// order. What is too old is deleted from the map, and stays in the list.
package main

import (
	"container/list"
	"fmt"
	"math/rand"
	"net/http"
	_ "net/http/pprof"
	"strings"
	"time"
)

type place struct {
	address  string
	lat, lon float64
	names    []string
}

type placeMemory struct {
	most   int
	byName map[string]*list.Element
	recent *list.List
	oldest *list.Element
}

func (m *placeMemory) find(address string) *place {
	if element, found := m.byName[address]; found {
		return element.Value.(*place)
	}
	return nil
}

func (m *placeMemory) remember(p *place) {
	element := m.recent.PushFront(p)
	m.byName[p.address] = element
	if m.oldest == nil {
		m.oldest = element
	}
	if len(m.byName) > m.most {
		delete(m.byName, m.oldest.Value.(*place).address)
		m.oldest = m.oldest.Prev()
	}
}

//go:noinline
func geocode(address string) *place {
	p := &place{address: address, lat: float64(len(address)), lon: 13.4}
	for _, language := range []string{"de", "en", "fr", "pl", "pt", "cs"} {
		p.names = append(p.names, language+": "+strings.ToUpper(address))
	}
	return p
}

func main() {
	go http.ListenAndServe("127.0.0.1:0", nil)
	chosen := rand.New(rand.NewSource(519))
	memory := &placeMemory{most: 3000, byName: map[string]*list.Element{}, recent: list.New()}
	begin, distance := time.Now(), 0.0
	for number := 0; ; time.Sleep(10 * time.Millisecond) {
		for ; float64(number) < time.Since(begin).Seconds()*2500; number++ {
			address := fmt.Sprintf("%d Station Road, door %d, %05d Littletown", chosen.Intn(200), chosen.Intn(30), chosen.Intn(90000))
			found := memory.find(address)
			if found == nil {
				found = geocode(address)
				memory.remember(found)
			}
			distance += found.lat
		}
	}
}
