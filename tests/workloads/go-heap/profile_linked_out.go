// SPDX-License-Identifier: Apache-2.0

//go:build noprofile

// Without a path to runtime.MemProfile the linker switches memory profiling off.
package main

func writeProfile()        {}
func writeProtobuf(string) {}
func writeSymbols()        {}
