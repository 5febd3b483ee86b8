// SPDX-License-Identifier: Apache-2.0

//go:build !noprofile

package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
)

func writeProfile() { pprof.Lookup("heap").WriteTo(os.Stdout, 1) }

func writeProtobuf(path string) {
	if file, err := os.Create(path); err == nil {
		pprof.Lookup("heap").WriteTo(file, 0)
		file.Close()
	}
}

func writeSymbols() {
	records := make([]runtime.MemProfileRecord, 100000)
	n, _ := runtime.MemProfile(records, true)
	out := bufio.NewWriter(os.Stdout)
	seen := map[uintptr]bool{}
	for _, record := range records[:n] {
		for _, pc := range record.Stack() {
			if !seen[pc] {
				seen[pc] = true
				frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
				fmt.Fprintf(out, "%#x %s %s %d\n", pc, frame.Function, frame.File, frame.Line)
			}
		}
	}
	out.Flush()
}
