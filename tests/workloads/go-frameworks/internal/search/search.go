// SPDX-License-Identifier: Apache-2.0

// Package search finds texts by their words.
package search

import (
	"strings"
	"sync"
)

type document struct {
	words     []string
	positions map[string][]int
}

// Index keeps the words of texts and where they stand.
type Index struct {
	mu        sync.Mutex
	keep      int
	documents []*document
}

// New holds `keep` documents, or all with 0.
func New(keep int) *Index { return &Index{keep: keep} }

// Add takes a text in and returns how many there are.
func (x *Index) Add(text string) int {
	added := analyse(text)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.documents = append(x.documents, added)
	if x.keep > 0 && len(x.documents) > x.keep {
		x.documents = append([]*document(nil), x.documents[1:]...)
	}
	return len(x.documents)
}

func analyse(text string) *document {
	found := &document{words: strings.Fields(strings.ToLower(text)), positions: map[string][]int{}}
	for i, word := range found.words {
		found.positions[word] = append(found.positions[word], i)
	}
	return found
}

// Count is how often a word occurs.
func (x *Index) Count(word string) (sum int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, document := range x.documents {
		sum += len(document.positions[word])
	}
	return sum
}
