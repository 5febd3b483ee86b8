// SPDX-License-Identifier: Apache-2.0

package main

import "unsafe"

// bucket is the runtime's own, with a stack of two: the header, the program counters and
// {allocs, frees, alloc_bytes, free_bytes} four times, as Go 1.19 lays them out.
type bucket struct {
	next, allNext    *bucket
	kind, hash       uintptr
	size, depth      uintptr
	stack            [2]uintptr
	active, future0  record
	future1, future2 record
}

type record struct{ allocs, frees, allocBytes, freeBytes uintptr }

const (
	memProfile = 1
	blockSize  = 1 << 20
	manyNodes  = 2000000
	manyPages  = 60000
	pageBytes  = 4096
)

var layouts = map[string]func() unsafe.Pointer{
	"loop": func() unsafe.Pointer {
		nodes := chain(3)
		nodes[2].allNext = &nodes[0]
		return unsafe.Pointer(&nodes[0])
	},
	"self": func() unsafe.Pointer {
		nodes := chain(1)
		nodes[0].allNext = &nodes[0]
		return unsafe.Pointer(&nodes[0])
	},
	"deep": func() unsafe.Pointer {
		nodes := chain(2)
		nodes[0].depth = 1 << 62
		return unsafe.Pointer(&nodes[0])
	},
	"long":  func() unsafe.Pointer { return unsafe.Pointer(&chain(manyNodes)[0]) },
	"pages": spread,
	"liar": func() unsafe.Pointer {
		nodes := chain(100)
		for i := range nodes {
			nodes[i].hash ^= 1
		}
		return unsafe.Pointer(&nodes[0])
	},
	"unmapped": func() unsafe.Pointer {
		nodes := chain(2)
		*(*uintptr)(unsafe.Pointer(&nodes[1].allNext)) = 0xdead000
		return unsafe.Pointer(&nodes[0])
	},
}

// spread is a list like that of chain, with each bucket on a page of its own.
func spread() unsafe.Pointer {
	block := pages(manyPages * pageBytes)
	var last *bucket
	for i := 0; i < manyPages; i++ {
		node := (*bucket)(unsafe.Pointer(&block[i*pageBytes]))
		node.fill(i)
		node.allNext, last = last, node
	}
	return unsafe.Pointer(last)
}

// chain lays out so many valid buckets, each with a stack of its own, in one list.
func chain(count int) []bucket {
	first := (*bucket)(unsafe.Pointer(&pages(count * int(unsafe.Sizeof(bucket{})))[0]))
	nodes := unsafe.Slice(first, count)
	for i := range nodes {
		nodes[i].fill(i)
		if i > 0 {
			nodes[i-1].allNext = &nodes[i]
		}
	}
	return nodes
}

// fill makes a valid bucket with the stack of that number.
func (b *bucket) fill(number int) {
	b.kind, b.size, b.depth = memProfile, blockSize, 2
	b.stack = [2]uintptr{0x460000 + uintptr(number), 0x470000}
	b.hash = hashOf(b.stack[:], b.size)
	b.active = record{allocs: 1, allocBytes: blockSize}
}

// hashOf is what the runtime computes of a bucket's stack and block size.
func hashOf(stack []uintptr, size uintptr) uintptr {
	h := uintptr(0)
	for _, word := range append(append([]uintptr{}, stack...), size) {
		h += word
		h += h << 10
		h ^= h >> 6
	}
	h += h << 3
	h ^= h >> 11
	return h
}
