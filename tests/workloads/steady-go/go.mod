module oomwitness/steady-go

go 1.19
