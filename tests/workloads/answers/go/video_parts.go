// SPDX-License-Identifier: Apache-2.0

// video_parts FOLDER: receives the parts of videos and joins them when the last one has come. Parts wait in files below
// FOLDER, and a joined video is handed on and its parts are removed.
package main

import (
	"fmt"
	"hash/crc32"
	"math/rand"
	"net/http"
	_ "net/http/pprof"
	"os"
	"path/filepath"
	"time"
)

type upload struct {
	number, parts int
	files         []string
}

type receiver struct {
	folder string
	open   map[int]*upload
	joined uint32
}

func (r *receiver) receivePart(number, parts int, content []byte) error {
	u := r.open[number]
	if u == nil {
		u = &upload{number: number, parts: parts}
		r.open[number] = u
	}
	file := filepath.Join(r.folder, fmt.Sprintf("video-%d.part-%d", number, len(u.files)))
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return err
	}
	u.files = append(u.files, file)
	if len(u.files) == u.parts {
		return r.join(u)
	}
	return nil
}

func (r *receiver) join(u *upload) error {
	delete(r.open, u.number)
	for _, file := range u.files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		r.joined = crc32.Update(r.joined, crc32.IEEETable, content)
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}

// Whoever has not sent a part for some seconds does not come back.
func (r *receiver) giveUp(before int) {
	for number := range r.open {
		if number < before {
			delete(r.open, number)
		}
	}
}

func main() {
	go http.ListenAndServe("127.0.0.1:0", nil)
	r := &receiver{folder: os.Args[1], open: map[int]*upload{}}
	chosen := rand.New(rand.NewSource(723))
	content := make([]byte, 160<<10)
	begin := time.Now()
	for number := 0; ; time.Sleep(20 * time.Millisecond) {
		for ; float64(number) < time.Since(begin).Seconds()*11; number++ {
			parts := 2 + chosen.Intn(4)
			sent := parts
			if chosen.Intn(10) < 4 {
				sent = 1 + chosen.Intn(parts-1)
			}
			for n := 0; n < sent; n++ {
				chosen.Read(content[:4096])
				if err := r.receivePart(number, parts, content); err != nil {
					panic(err)
				}
			}
		}
		r.giveUp(number - 20)
	}
}
