// Package web is what the endpoints of the HTTP API have in common: how an endpoint is declared, the request that it
// serves, its answer, refusals in RabbitMQ's words, lists with paging, sorting and columns, and bounds on the memory of
// all requests together.
//
// An Endpoint is declared once, beside its handler. A handler gets a Request, which knows the caller's rights and reads
// virtual hosts, and returns an Answer or an error; what an error means in HTTP is decided here alone, see Refusal.
//
// Begin reading at Endpoint, then Request.
package web
