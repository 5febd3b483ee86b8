module oomwitness.test/gopatterns

go 1.19
