// SPDX-License-Identifier: Apache-2.0

//go:build !noprofile

package main

import "runtime"

// A path to runtime.MemProfile: without one the linker switches memory profiling off.
var profile = runtime.MemProfile

func init() {
	if profile == nil {
		panic("no profile")
	}
}
