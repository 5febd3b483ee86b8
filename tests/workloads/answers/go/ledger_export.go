// SPDX-License-Identifier: Apache-2.0

// Exports of one account each for 22 seconds, then one of all accounts.
package main

import (
	"encoding/json"
	"fmt"
	_ "net/http/pprof"
	"time"
)

type entry struct {
	Account int
	Text    string
	Amounts [6]float64
}

//go:noinline
func loadEntries(count int) []*entry {
	entries := []*entry{}
	for n := 0; n < count; n++ {
		entries = append(entries, &entry{n % 1000, fmt.Sprint("entry ", n), [6]float64{float64(n), 1, 2}})
	}
	return entries
}

func exportLedger(count int) int {
	text, _ := json.Marshal(loadEntries(count))
	return len(text)
}

func main() {
	for begin := time.Now(); time.Since(begin) < 22*time.Second; time.Sleep(200 * time.Millisecond) {
		exportLedger(8000)
	}
	exportLedger(6_000_000)
}
