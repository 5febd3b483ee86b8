// SPDX-License-Identifier: Apache-2.0

// go-stack FILE: comes to a place through calls of every kind, writes there what Go itself says of its callers, a line
// "FUNCTION FILE LINE" each, then a line to its output, and stays there for ever, in the main thread.
package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"syscall"
	"unsafe"
)

type sink interface{ take(n int) int }

type store struct{ kept map[int]int }

func init() { runtime.LockOSThread() }

func writeCallers(file string) {
	out, err := os.Create(file)
	if err != nil {
		panic(err)
	}
	lines := bufio.NewWriter(out)
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		frame, more := frames.Next()
		fmt.Fprintln(lines, frame.Function, filepath.Base(frame.File), frame.Line)
		if !more {
			break
		}
	}
	lines.Flush()
	out.Close()
}

//go:noinline
func stop(n int) int {
	var room [4000]byte // a frame that is not small
	room[n%4000] = 1
	writeCallers(os.Args[1])
	newline := "\n"
	syscall.RawSyscall(syscall.SYS_WRITE, 1, *(*uintptr)(unsafe.Pointer(&newline)), 1)
	for {
		syscall.RawSyscall(syscall.SYS_PAUSE, 0, 0, 0)
		if room[(n+1)%4000] == 2 {
			return n
		}
	}
}

func inlined(n int) int { return stop(n+1) + 1 }

//go:noinline
func (s *store) take(n int) int {
	s.kept[n] = inlined(n)
	return len(s.kept)
}

//go:noinline
func each[T any](values []T, do func(T) int) int {
	total := 0
	for _, value := range values {
		total += do(value)
	}
	return total
}

//go:noinline
func deep(n int, s sink) int {
	if n > 0 {
		return deep(n-1, s) + n
	}
	return each([]string{"a"}, func(text string) int { return s.take(len(text)) })
}

func main() {
	numbers := []int{3, 2, 1}
	sort.Slice(numbers, func(a, b int) bool { // called back by the library
		defer func() { _ = recover() }()
		return deep(20, &store{kept: map[int]int{}}) > a+b
	})
}
