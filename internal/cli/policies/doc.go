// Package policies has the commands about the settings of queues and exchanges: policies, parameters, which setting is
// effective and why, the paths of messages, and lint.
package policies
