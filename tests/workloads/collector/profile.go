// SPDX-License-Identifier: Apache-2.0

//go:build !noprofile

// What the pprof extension of distributions brings in: a path to runtime.MemProfile. Nothing listens.
package main

import _ "net/http/pprof"
