// SPDX-License-Identifier: Apache-2.0

// Labels are measured by a library in C. Each is copied for it, and the copies are never freed.
package main

// #include <string.h>
import "C"

import (
	"fmt"
	"net/http"
	_ "net/http/pprof"
	"strings"
	"time"
)

var width C.size_t

//go:noinline
func measureLabel(text string) {
	width += C.strlen(C.CString(text))
}

func renderLabel(number int) string {
	return fmt.Sprintf("Parcel %d\n%s", number, strings.Repeat("line of the address ", 40+number%20))
}

func main() {
	go http.ListenAndServe("127.0.0.1:0", nil)
	begin := time.Now()
	for number := 0; ; time.Sleep(20 * time.Millisecond) {
		for ; float64(number) < time.Since(begin).Seconds()*2500; number++ {
			measureLabel(renderLabel(number))
		}
	}
}
