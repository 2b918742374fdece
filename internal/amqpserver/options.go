package amqpserver

import (
	"fmt"
	"log/slog"
	"math"
	"time"
)

// Options are what an operator may set. Begin with Defaults.
type Options struct {
	Log         *slog.Logger
	ClusterName string // told to clients, such as rabbit@host
	Platform    string // told to clients: who we are beside being compatible

	ChannelMax       uint16        // channels of a connection at most; 0 means no limit
	FrameMax         uint32        // octets of a frame at most, from frameBytesFloor
	Heartbeat        time.Duration // suggested to clients, in whole seconds; 0 switches heartbeats off
	MessageMax       int64         // octets of a body at most
	HandshakeTimeout time.Duration // from accept to connection.open
	LoopbackUsers    []string      // users who may log in from this machine only
	Connections      int           // served at once by all Serve; the next ones wait to be accepted; 0 means no limit
}

// Defaults returns RabbitMQ's defaults.
func Defaults() Options {
	return Options{
		Log:              slog.Default(),
		ClusterName:      "rabbit@localhost",
		Platform:         "Bartleby",
		ChannelMax:       2047,
		FrameMax:         128 << 10,
		Heartbeat:        time.Minute,
		MessageMax:       16 << 20,
		HandshakeTimeout: 10 * time.Second,
		LoopbackUsers:    []string{"guest"},
	}
}

func (o *Options) validate() error {
	switch {
	case o.Log == nil:
		return fmt.Errorf("amqpserver: no logger")
	case o.FrameMax < frameBytesFloor || o.FrameMax > frameBytesCeiling:
		return fmt.Errorf("amqpserver: frame max %d is not from %d to %d", o.FrameMax, frameBytesFloor, frameBytesCeiling)
	case o.Heartbeat < 0 || o.Heartbeat%time.Second != 0 || o.Heartbeat > math.MaxUint16*time.Second:
		return fmt.Errorf("amqpserver: heartbeat %v is not from 0 to %d whole seconds", o.Heartbeat, math.MaxUint16)
	case o.MessageMax < 1 || o.MessageMax > messageBytesCeiling:
		return fmt.Errorf("amqpserver: message max %d is not from 1 to %d", o.MessageMax, messageBytesCeiling)
	case o.HandshakeTimeout <= 0:
		return fmt.Errorf("amqpserver: handshake timeout %v is not positive", o.HandshakeTimeout)
	case o.Connections < 0:
		return fmt.Errorf("amqpserver: %d connections at once", o.Connections)
	}
	return nil
}
