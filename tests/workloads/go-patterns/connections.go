// SPDX-License-Identifier: Apache-2.0
package main

import (
	"bufio"
	"flag"
	"math/rand"
	"net"
	"time"
)

// connections are accepted from -connection-after on, each with a goroutine and two buffers, both full once it has
// sent something. They are closed after -connection-seconds, or never.
type connections struct {
	perSecond, after, seconds float64
	most, bufferKB            int
	request                   []byte
}

func (c *connections) flags() {
	flag.Float64Var(&c.perSecond, "connection-per-s", 0, "that come each second")
	flag.Float64Var(&c.after, "connection-after", 0, "seconds without any")
	flag.Float64Var(&c.seconds, "connection-seconds", 0, "mean time until one is closed; 0 for never")
	flag.IntVar(&c.most, "connection-most", 0, "after which none comes any more; 0 for no end")
	flag.IntVar(&c.bufferKB, "connection-buffer-kb", 32, "size of each of its two buffers")
}

func (c *connections) isWanted() bool { return c.perSecond > 0 }

// Reads one request and keeps the answer in its buffer, as a server that waits for more to send with it.
//
//go:noinline
func (c *connections) serve(peer net.Conn) {
	defer peer.Close()
	in, out := bufio.NewReaderSize(peer, len(c.request)), bufio.NewWriterSize(peer, len(c.request))
	if request, err := in.Peek(len(c.request)); err == nil {
		out.Write(request[1:])
		in.Discard(len(request))
		in.ReadByte()
		out.Flush()
	}
}

func (c *connections) accept(random *rand.Rand) int {
	client, server := net.Pipe()
	go c.serve(server)
	client.Write(c.request)
	if c.seconds > 0 {
		lasting := c.seconds * (0.5 + random.Float64())
		time.AfterFunc(time.Duration(lasting*float64(time.Second)), func() { client.Close() })
	}
	return 1
}

func (c *connections) run(random *rand.Rand) {
	c.request = block(c.bufferKB * kib)
	sleepSeconds(c.after)
	pace(float64(c.most), steadily(c.perSecond), func() int { return c.accept(random) })
}
