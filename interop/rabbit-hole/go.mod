// The Go client of the management API, whose own tests run against a broker: interop/run.sh rabbit-hole.
module github.com/bartleby-mq/bartleby/interop/rabbit-hole

go 1.26

require github.com/michaelklishin/rabbit-hole/v3 v3.2.0 // indirect
