module oomwitness.test/goheap

go 1.19
