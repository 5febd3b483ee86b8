module oomwitness.test/gohostile

go 1.19
