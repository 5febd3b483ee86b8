module oomwitness.test/gostack

go 1.19
