// SPDX-License-Identifier: Apache-2.0

// Says when the members of a team are free. The events of all members are expanded for the time that is asked about, sorted,
// and what is between them is the answer.
package main

import (
	"fmt"
	"math/rand"
	"net/http"
	_ "net/http/pprof"
	"sort"
	"time"
)

type rule struct {
	title         string
	begin         time.Time
	every, length time.Duration
	until         time.Time
}

type occurrence struct {
	title      string
	begin, end time.Time
}

type member struct {
	name  string
	rules []rule
}

type planner struct {
	chosen *rand.Rand
	first  time.Time
}

//go:noinline
func expandRule(m *member, r rule, found []*occurrence) []*occurrence {
	for at, n := r.begin, 0; at.Before(r.until); at, n = at.Add(r.every), n+1 {
		found = append(found, &occurrence{fmt.Sprintf("%s of %s, number %d", r.title, m.name, n), at, at.Add(r.length)})
		if n%1000 == 999 {
			time.Sleep(10 * time.Millisecond) // the exceptions of a rule are read from a database
		}
	}
	return found
}

func freeTimes(team []*member) time.Duration {
	var found []*occurrence
	for _, m := range team {
		for _, r := range m.rules {
			found = expandRule(m, r, found)
		}
	}
	sort.Slice(found, func(a, b int) bool { return found[a].begin.Before(found[b].begin) })
	var free time.Duration
	for n := 1; n < len(found); n++ {
		if gap := found[n].begin.Sub(found[n-1].end); gap > 0 {
			free += gap
		}
	}
	return free
}

func (p *planner) team(size int) []*member {
	team := make([]*member, size)
	for n := range team {
		team[n] = &member{name: fmt.Sprintf("colleague-%d", p.chosen.Intn(9000))}
		for k := 0; k < 4; k++ {
			begin := p.first.Add(time.Duration(p.chosen.Intn(10000)) * time.Minute)
			team[n].rules = append(team[n].rules, rule{"meeting", begin, 24 * time.Hour, 40 * time.Minute, begin.AddDate(0, 0, 30)})
		}
	}
	return team
}

func main() {
	go http.ListenAndServe("127.0.0.1:0", nil)
	p := &planner{rand.New(rand.NewSource(724)), time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC)}
	begin, free := time.Now(), time.Duration(0)
	for number := 0; ; time.Sleep(10 * time.Millisecond) {
		for ; float64(number) < time.Since(begin).Seconds()*60; number++ {
			team := p.team(3 + p.chosen.Intn(5))
			if number == 60*26 {
				// Imported from a telephone: a reminder to drink, each minute, for ever.
				reminder := rule{"drink", p.first, time.Minute, 10 * time.Second, p.first.AddDate(60, 0, 0)}
				team[1].rules = append(team[1].rules, reminder)
			}
			free += freeTimes(team)
		}
	}
}
