// SPDX-License-Identifier: Apache-2.0

// Imports feeds of offers into arenas of 256 KiB, which are mapped so that the collector need not look at them. The arena of a
// feed is given back when it was imported; one with an offer that cannot be read returns before that.
package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	_ "net/http/pprof"
	"strings"
	"syscall"
	"time"
)

type arena struct {
	memory []byte
	used   int
}

//go:noinline
func newArena(size int) (*arena, error) {
	memory, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	return &arena{memory: memory}, err
}

func (a *arena) put(text string) {
	if a.used+4+len(text) > len(a.memory) {
		return
	}
	binary.LittleEndian.PutUint32(a.memory[a.used:], uint32(len(text)))
	copy(a.memory[a.used+4:], text)
	a.used += 4 + len(text)
}

func (a *arena) release() error {
	return syscall.Munmap(a.memory)
}

var errNoPrice = errors.New("an offer without a price")

func importFeed(lines []string) (int, error) {
	offers, err := newArena(256 << 10)
	if err != nil {
		return 0, err
	}
	for _, line := range lines {
		offers.put(line)
	}
	for _, line := range lines {
		if strings.HasSuffix(line, ";") {
			return 0, errNoPrice
		}
	}
	return offers.used, offers.release()
}

func feed(number int) []string {
	lines := make([]string, 2600)
	for n := range lines {
		lines[n] = fmt.Sprintf("offer %d-%d;%s;%d", number, n, strings.Repeat("colour and size ", 4), number*31+n)
	}
	if number%4 == 0 {
		lines[len(lines)-1] = fmt.Sprintf("offer %d-last;;", number)
	}
	return lines
}

func main() {
	go http.ListenAndServe("127.0.0.1:0", nil)
	begin, imported, failed := time.Now(), 0, 0
	for number := 0; ; time.Sleep(20 * time.Millisecond) {
		for ; float64(number) < time.Since(begin).Seconds()*24; number++ {
			bytes, err := importFeed(feed(number))
			imported += bytes
			if err != nil {
				failed++
			}
		}
	}
}
