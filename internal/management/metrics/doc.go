// Package metrics is the page that Prometheus reads: RabbitMQ's metrics under their names, and ours under bartleby_.
//
// A metric is a line in its family, see metricFamilies. A page is made once for all who asked for it before it was
// begun, see sharedPage.
package metrics
