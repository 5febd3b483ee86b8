// SPDX-License-Identifier: Apache-2.0

//go:build !noprofile

package main

import "runtime"

// keepProfile is a path to runtime.MemProfile: without one the linker switches the profile off.
func keepProfile() {
	records := make([]runtime.MemProfileRecord, 16)
	runtime.MemProfile(records, true)
}
