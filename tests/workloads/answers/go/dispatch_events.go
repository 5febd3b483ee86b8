// SPDX-License-Identifier: Apache-2.0

// Consumes the events of a taxi dispatcher, and logs for each event which batch it came in. Four consumers read their
// partitions, each until the service is stopped.
package main

import (
	"context"
	"fmt"
	"math/rand"
	"net/http"
	_ "net/http/pprof"
	"time"
)

type batchKey struct{}

type batchInfo struct {
	partition, offset int
	received          time.Time
	offsets           []int
	source            string
}

type ride struct {
	car, passenger int
	from, to       [2]float64
}

type partition struct {
	number int
	rides  chan []ride
}

type statistics struct {
	kilometres []float64
	logged     int
}

//go:noinline
func withBatch(ctx context.Context, partition, offset int, rides []ride) context.Context {
	info := &batchInfo{partition: partition, offset: offset, received: time.Now()}
	info.source = fmt.Sprintf("rides-%d@%d", partition, offset)
	for n := range rides {
		info.offsets = append(info.offsets, offset+n)
	}
	return context.WithValue(ctx, batchKey{}, info)
}

func (s *statistics) add(ctx context.Context, r ride) {
	info := ctx.Value(batchKey{}).(*batchInfo)
	s.kilometres[r.car] += (r.to[0]-r.from[0])*(r.to[0]-r.from[0]) + (r.to[1]-r.from[1])*(r.to[1]-r.from[1])
	s.logged += len(info.source)
}

func consumeRides(ctx context.Context, p *partition) {
	s := &statistics{kilometres: make([]float64, 5000)}
	offset := 0
	for {
		select {
		case <-ctx.Done():
			return
		case rides := <-p.rides:
			ctx = withBatch(ctx, p.number, offset, rides)
			for _, r := range rides {
				s.add(ctx, r)
			}
			offset += len(rides)
		}
	}
}

func main() {
	go http.ListenAndServe("127.0.0.1:0", nil)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	partitions := make([]*partition, 4)
	for n := range partitions {
		partitions[n] = &partition{n, make(chan []ride, 10)}
		go consumeRides(ctx, partitions[n])
	}
	chosen := rand.New(rand.NewSource(722))
	begin := time.Now()
	for number := 0; ; time.Sleep(10 * time.Millisecond) {
		for ; float64(number) < time.Since(begin).Seconds()*2400; number++ {
			rides := make([]ride, 10+chosen.Intn(50))
			for n := range rides {
				rides[n] = ride{chosen.Intn(5000), chosen.Intn(90000), [2]float64{chosen.Float64(), 1}, [2]float64{1, chosen.Float64()}}
			}
			partitions[number%4].rides <- rides
		}
	}
}
