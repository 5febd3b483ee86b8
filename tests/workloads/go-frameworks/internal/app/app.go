// SPDX-License-Identifier: Apache-2.0

// Package app is what all services share: their flags, the debug listener and a client that uses every endpoint alike.
package app

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof" // on a listener of its own, as its documentation has it
	"os"
	"reflect"
	"runtime"
	"strings"
	"time"
)

// Call is one endpoint and how the client uses it.
type Call struct {
	Endpoint string // "POST /orders"
	Path     string // what is asked for, "%d" counts up; the endpoint's own where empty
	Body     []byte
	Names    []any // the handler, or names that mean this endpoint as well
	Do       func() error
}

var (
	leak  = flag.String("leak", "", "the endpoint that never drops what it keeps")
	rate  = flag.Int("rate", 40, "calls a second to each endpoint")
	list  = flag.Bool("endpoints", false, "print the endpoints and their handlers")
	token = "Bearer 9a0f6b"
)

// Keep is how many entries an endpoint may hold; 0 means all of them.
func Keep(endpoint string) int {
	if !flag.Parsed() {
		flag.Parse()
	}
	if *leak == endpoint {
		return 0
	}
	return 8
}

// Authorized is the check of every service's own middleware.
func Authorized(header string) bool { return header == token }

// Listen is the service's listener and its address.
func Listen() (net.Listener, string) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	return listener, listener.Addr().String()
}

// Run uses all endpoints for as long as the process lives; with -endpoints it prints them and ends.
func Run(address string, calls []Call) {
	if *list {
		printNames(calls)
		os.Exit(0)
	}
	go func() { log.Print(http.ListenAndServe("127.0.0.1:0", nil)) }()
	for i := range calls {
		if calls[i].Do == nil {
			calls[i].Do = overHTTP("http://"+address, calls[i])
		}
		go steadily(calls[i])
	}
	select {}
}

func printNames(calls []Call) {
	for _, call := range calls {
		names := []string{}
		for _, name := range call.Names {
			if text, is := name.(string); is {
				names = append(names, text)
			} else {
				names = append(names, runtime.FuncForPC(reflect.ValueOf(name).Pointer()).Name())
			}
		}
		fmt.Printf("%s\t%s\n", call.Endpoint, strings.Join(names, " "))
	}
}

func steadily(call Call) {
	failed := 0
	for range time.Tick(time.Second / time.Duration(*rate)) {
		if err := call.Do(); err == nil {
			failed = 0
		} else if failed++; failed > 20 {
			log.Fatalf("%s: %v", call.Endpoint, err)
		}
	}
}

func overHTTP(base string, call Call) func() error {
	method, path, _ := strings.Cut(call.Endpoint, " ")
	if call.Path != "" {
		path = call.Path
	}
	count := 0
	return func() error {
		count++
		url := base + path
		if strings.Contains(path, "%d") {
			url = base + fmt.Sprintf(path, count)
		}
		request, err := http.NewRequest(method, url, bytes.NewReader(call.Body))
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", token)
		request.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if _, err = io.Copy(io.Discard, answer.Body); err == nil && answer.StatusCode >= 300 {
			err = fmt.Errorf("status %s", answer.Status)
		}
		return err
	}
}
