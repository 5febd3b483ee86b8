// SPDX-License-Identifier: Apache-2.0

// An editor locks a document while it saves it, each by a lock of its own, which is made when it is first asked for. With the
// lock is what was saved last, to find out whether anything changed. No lock is ever taken out of the map.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	_ "net/http/pprof"
	"strings"
	"sync"
	"time"
)

type docLock struct {
	mutex sync.Mutex
	saved []byte
	at    time.Time
}

type editor struct {
	locks sync.Map
}

func (e *editor) lockOf(path string) *docLock {
	lock, _ := e.locks.LoadOrStore(path, &docLock{})
	return lock.(*docLock)
}

func (e *editor) save(w http.ResponseWriter, r *http.Request) {
	lock := e.lockOf(r.URL.Path)
	lock.mutex.Lock()
	defer lock.mutex.Unlock()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if bytes.Equal(text, lock.saved) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	lock.saved, lock.at = text, time.Now()
	fmt.Fprintf(w, "saved %d bytes", len(text))
}

func writers(address string) {
	client, begin := &http.Client{}, time.Now()
	paragraph := strings.Repeat("All that was said in the meeting of the board. ", 190)
	for number := 0; ; time.Sleep(10 * time.Millisecond) {
		for ; float64(number) < time.Since(begin).Seconds()*450; number++ {
			text := fmt.Sprintf("Minutes %d\n%s", number/3, paragraph)
			request, _ := http.NewRequest("PUT", fmt.Sprintf("%s/minutes/%d", address, number/3), strings.NewReader(text))
			if response, err := client.Do(request); err == nil {
				io.Copy(io.Discard, response.Body)
				response.Body.Close()
			}
		}
	}
}

func main() {
	e := &editor{}
	http.HandleFunc("/minutes/", e.save)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go writers("http://" + listener.Addr().String())
	panic(http.Serve(listener, nil))
}
