// SPDX-License-Identifier: Apache-2.0

//go:build noprofile

package main

func keepProfile() {}
