module oomwitness/leaky-go

go 1.19
