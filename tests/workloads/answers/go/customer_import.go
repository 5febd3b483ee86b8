// SPDX-License-Identifier: Apache-2.0

// Imports lists of customers that shops upload as CSV, five in a second, and counts the customers by town. A list has some
// hundred customers as a rule.
package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	_ "net/http/pprof"
	"time"
)

// An upload as it comes from the network: rows are made as they are read.
type upload struct {
	rows, done int
	chosen     *rand.Rand
	rest       []byte
}

func (u *upload) Read(p []byte) (int, error) {
	if len(u.rest) == 0 {
		if u.done == u.rows {
			return 0, io.EOF
		}
		u.done++
		u.rest = []byte(fmt.Sprintf("%d,Mr or Mrs %d,%d Station Road,Town %d,customer since %d\n",
			u.done, u.chosen.Intn(90000), u.chosen.Intn(300), u.chosen.Intn(500), 1990+u.done%30))
	}
	n := copy(p, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}

type importer struct {
	towns map[string]int
}

//go:noinline
func readCustomers(u *upload) ([][]string, error) {
	return csv.NewReader(u).ReadAll()
}

func (i *importer) importList(u *upload) {
	customers, err := readCustomers(u)
	if err != nil {
		fmt.Println("refused:", err)
		return
	}
	for _, customer := range customers {
		i.towns[customer[3]]++
	}
}

func main() {
	go http.ListenAndServe("127.0.0.1:0", nil)
	chosen := rand.New(rand.NewSource(623))
	i := &importer{towns: map[string]int{}}
	begin := time.Now()
	for number := 0; ; time.Sleep(20 * time.Millisecond) {
		for ; float64(number) < time.Since(begin).Seconds()*5; number++ {
			rows := 200 + chosen.Intn(600)
			if number == 210 {
				rows = 1_200_000
			}
			i.importList(&upload{rows: rows, chosen: chosen})
		}
	}
}
