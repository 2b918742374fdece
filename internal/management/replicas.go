package management

import (
	"net/http"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// This broker is one node: a quorum queue has one member, which leads. What RabbitMQ does to the members of a queue is
// answered as RabbitMQ does on one node: it is so already, or it is refused. Source: RabbitMQ quorum-queues#management.

// quorumQueue makes sure that the path names a quorum queue.
func (r *request) quorumQueue() error {
	if _, err := r.vhost(r.names[0]); err != nil {
		return err
	}
	var q vhost.QueueView
	var found bool
	if err := r.look(r.names[0], func(v *vhost.VHost) { q, found = v.Queue(r.names[1]) }); err != nil {
		return err
	}
	switch {
	case !found:
		return errNotFound
	case q.Type != "quorum":
		return badRequest("queue '%s' in vhost '%s' is not a quorum queue", r.names[1], r.names[0])
	}
	return nil
}

// getReplicas shows the one member of a quorum queue.
func getReplicas(r *request) (answer, error) {
	if err := r.quorumQueue(); err != nil {
		return answer{}, err
	}
	return ok(api.List[api.Replica]{{Node: r.server.options.Node, State: "leader", Membership: "voter"}})
}

// readNode reads the body of a request to add or delete a member.
func (r *request) readNode() (string, error) {
	var body struct {
		Node *string `json:"node"`
	}
	if err := r.read(&body); err != nil {
		return "", err
	}
	if err := needKeys(key{"node", body.Node != nil}); err != nil {
		return "", err
	}
	return *body.Node, nil
}

func addReplica(r *request) (answer, error) {
	if err := r.quorumQueue(); err != nil {
		return answer{}, err
	}
	name, err := r.readNode()
	if err != nil {
		return answer{}, err
	}
	if name != r.server.options.Node {
		return answer{}, badRequest("node '%s' is not in this cluster, whose only node is %s", name, r.server.options.Node)
	}
	return nothing() // it is a member
}

func deleteReplica(r *request) (answer, error) {
	if err := r.quorumQueue(); err != nil {
		return answer{}, err
	}
	name, err := r.readNode()
	if err != nil {
		return answer{}, err
	}
	if name != r.server.options.Node {
		return answer{}, badRequest("node '%s' is not a member of the queue", name)
	}
	return answer{}, errLastMember
}

var errLastMember = &api.Error{
	Status: http.StatusBadRequest, Kind: "bad_request", Reason: "the node is the only member of the queue: delete the queue instead",
}

// growReplicas adds this node to all queues, which have it.
func growReplicas(r *request) (answer, error) {
	if err := r.needNode(); err != nil {
		return answer{}, err
	}
	return nothing()
}

func shrinkReplicas(r *request) (answer, error) {
	if err := r.needNode(); err != nil {
		return answer{}, err
	}
	return answer{}, errLastMember
}
