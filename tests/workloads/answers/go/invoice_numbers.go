// SPDX-License-Identifier: Apache-2.0

// A nightly job reads scanned invoices and keeps their numbers by supplier, to find those that came twice. A number is a piece
// of the page it was found on.
package main

import (
	"fmt"
	"math/rand"
	"strings"
	"time"
)

type supplier struct {
	name    string
	numbers [][]string // by month
}

func (s *supplier) add(month int, number string) {
	for len(s.numbers) <= month {
		s.numbers = append(s.numbers, nil)
	}
	s.numbers[month] = append(s.numbers[month], number)
}

//go:noinline
func readPage(number int, noise *rand.Rand) string {
	var page strings.Builder
	fmt.Fprintf(&page, "Invoice no. %08d\n", number)
	for line := 0; line < 60; line++ {
		fmt.Fprintf(&page, "%3d pieces of article %6d at %7.2f\n", noise.Intn(90), noise.Intn(900_000), noise.Float64()*900)
	}
	return page.String()
}

//go:noinline
func numberOf(page string) string {
	_, rest, _ := strings.Cut(page, "no. ")
	number, _, _ := strings.Cut(rest, "\n")
	return number
}

func main() {
	suppliers := make([]*supplier, 200)
	for n := range suppliers {
		suppliers[n] = &supplier{name: fmt.Sprintf("supplier %d", n)}
	}
	noise, begin := rand.New(rand.NewSource(93)), time.Now()
	for number := 0; ; time.Sleep(20 * time.Millisecond) {
		for ; float64(number) < time.Since(begin).Seconds()*450; number++ {
			page := readPage(number, noise)
			suppliers[number%200].add(number/20_000, numberOf(page))
		}
	}
}
