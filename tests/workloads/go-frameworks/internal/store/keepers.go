// SPDX-License-Identifier: Apache-2.0

package store

import (
	"container/list"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"time"
)

// History is a slice of the newest entries.
type History[T any] struct {
	mu   sync.Mutex
	keep int
	all  []T
}

// NewHistory holds `keep` entries.
func NewHistory[T any](keep int) *History[T] { return &History[T]{keep: keep} }

// Add appends, and drops the oldest where there are too many. It returns how many there are.
func (h *History[T]) Add(value T) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, value)
	if h.keep > 0 && len(h.all) > h.keep {
		h.all = append([]T(nil), h.all[1:]...)
	}
	return len(h.all)
}

// Table is a map with the order in which its keys came.
type Table[V any] struct {
	mu   sync.RWMutex
	keep int
	rows map[string]V
	keys []string
}

// NewTable holds `keep` rows.
func NewTable[V any](keep int) *Table[V] { return &Table[V]{keep: keep, rows: map[string]V{}} }

// Put stores a row below a new key, which it returns.
func (t *Table[V]) Put(value V) string {
	key := newID()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows[key] = value
	t.keys = append(t.keys, key)
	if t.keep > 0 && len(t.keys) > t.keep {
		delete(t.rows, t.keys[0])
		t.keys = t.keys[1:]
	}
	return key
}

// Session is what is known of somebody who logged in: rights and a basket with room for many items.
type Session struct {
	User   string
	Since  time.Time
	Rights map[string]bool
	Basket []Item
}

// Sessions are open until somebody closes them.
type Sessions struct{ open *Table[*Session] }

// NewSessions holds `keep` of them.
func NewSessions(keep int) *Sessions { return &Sessions{open: NewTable[*Session](keep)} }

// Open makes a session and returns its token.
func (s *Sessions) Open(user string) string {
	session := &Session{User: user, Since: time.Now(), Rights: map[string]bool{}, Basket: make([]Item, 0, 1200)}
	for i := 0; i < 64; i++ {
		session.Rights[fmt.Sprintf("products:%d:read", i)] = true
	}
	return s.open.Put(session)
}

// Cache is what callers see of a cache.
type Cache interface {
	Get(key string) ([]byte, bool)
	Put(key string, value []byte)
}

type entry struct {
	key   string
	value []byte
}

type recentlyUsed struct {
	mu    sync.Mutex
	keep  int
	order *list.List
	byKey map[string]*list.Element
}

// NewCache drops what was not used for longest.
func NewCache(keep int) Cache {
	return &recentlyUsed{keep: keep, order: list.New(), byKey: map[string]*list.Element{}}
}

func (c *recentlyUsed) Get(key string) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, found := c.byKey[key]
	if !found {
		return nil, false
	}
	c.order.MoveToFront(element)
	return element.Value.(*entry).value, true
}

func (c *recentlyUsed) Put(key string, value []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byKey[key] = c.order.PushFront(&entry{key, value})
	for c.keep > 0 && c.order.Len() > c.keep {
		oldest := c.order.Back()
		delete(c.byKey, c.order.Remove(oldest).(*entry).key)
	}
}

// Queue hands values to one worker.
type Queue[T any] struct{ waiting chan T }

// NewQueue has a worker that leaves `keep` values waiting, or never gets to any with 0.
func NewQueue[T any](keep int, work func(T)) *Queue[T] {
	q := &Queue[T]{waiting: make(chan T, 1<<16)}
	go func() {
		for range time.Tick(time.Millisecond) {
			for keep > 0 && len(q.waiting) > keep {
				work(<-q.waiting)
			}
		}
	}()
	return q
}

// Push waits while the queue is full.
func (q *Queue[T]) Push(value T) { q.waiting <- value }

func newID() string {
	var id [12]byte
	_, _ = rand.Read(id[:])
	return hex.EncodeToString(id[:])
}
