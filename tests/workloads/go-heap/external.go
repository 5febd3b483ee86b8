// SPDX-License-Identifier: Apache-2.0

//go:build cgo && external

// Brings in the system's linker: the C start-up code comes before Go's in .text.
package main

import "C"
