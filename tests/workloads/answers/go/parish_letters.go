// SPDX-License-Identifier: Apache-2.0

// Sends the letters of parishes by mail, a dozen in a second to each of several hosts. A letter that a host does not take
// now is put at the end of the list and tried again.
package main

import (
	"errors"
	"fmt"
	"math/rand"
	"net/http"
	_ "net/http/pprof"
	"strings"
	"time"
)

type letter struct {
	parish, receiver string
	body             string
	headers          map[string]string
	attempts         int
	lastError        error
}

type mailHost struct {
	name      string
	greylists bool
	taken     int
}

var errLater = errors.New("451 try again later")

func (m *mailHost) take(l *letter) error {
	if m.greylists && l.headers["Sender-Id"] == "" {
		return fmt.Errorf("%s: %w", m.name, errLater)
	}
	m.taken += len(l.body)
	return nil
}

type outbox struct {
	unsent []*letter
	host   *mailHost
}

type postOffice struct {
	boxes  []*outbox
	chosen *rand.Rand
}

//go:noinline
func (p *postOffice) writeLetter(number int) *letter {
	body := &strings.Builder{}
	for n := 0; n < 4+p.chosen.Intn(8); n++ {
		fmt.Fprintf(body, "On Sunday the %d. we sing number %d, and coffee is made by group %d.\n", 1+n, p.chosen.Intn(600), n)
	}
	l := &letter{parish: fmt.Sprintf("parish-%d", number%40), receiver: fmt.Sprintf("member-%d@example.org", number),
		body: body.String(), headers: map[string]string{"Subject": "Our week", "Date": time.Now().Format(time.RFC1123)}}
	return l
}

func (o *outbox) deliver(most int) {
	later := o.unsent[:0]
	for n, l := range o.unsent {
		if n >= most {
			later = append(later, l)
			continue
		}
		if err := o.host.take(l); err != nil {
			l.attempts++
			l.lastError = err
			later = append(later, l)
		}
	}
	for n := len(later); n < len(o.unsent); n++ {
		o.unsent[n] = nil
	}
	o.unsent = later
}

func main() {
	go http.ListenAndServe("127.0.0.1:0", nil)
	p := &postOffice{chosen: rand.New(rand.NewSource(721))}
	for n := 0; n < 6; n++ {
		p.boxes = append(p.boxes, &outbox{host: &mailHost{name: fmt.Sprintf("mx%d.example.org", n), greylists: n == 4}})
	}
	begin := time.Now()
	for number := 0; ; time.Sleep(50 * time.Millisecond) {
		for ; float64(number) < time.Since(begin).Seconds()*5400; number++ {
			box := p.boxes[number%len(p.boxes)]
			box.unsent = append(box.unsent, p.writeLetter(number))
		}
		for _, box := range p.boxes {
			box.deliver(400)
		}
	}
}
