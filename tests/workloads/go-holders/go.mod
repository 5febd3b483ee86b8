module oomwitness.test/goholders

go 1.19
