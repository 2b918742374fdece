package resources

import (
	"net/http"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func replicaEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "POST rebalance/queues", Tag: authz.Administrator, Serve: rebalance, Scope: web.AllNodes,
			Summary: "Rebalances queue leaders: no effect on a single node",
		},
		{
			Pattern: "GET queues/quorum/{vhost}/{queue}/status", Tag: authz.Monitoring, Serve: getReplicas, Scope: web.Leader,
			Summary: "The members of a quorum queue", Out: api.List[api.Replica]{},
		},
		{
			Pattern: "POST queues/quorum/{vhost}/{queue}/replicas/add", Tag: authz.Administrator, Serve: addReplica, Scope: web.Leader,
			Summary: "Adds a member to a quorum queue", In: inNode{},
		},
		{
			Pattern: "DELETE queues/quorum/{vhost}/{queue}/replicas/delete", Tag: authz.Administrator, Serve: deleteReplica, Scope: web.Leader,
			Summary: "Removes a member from a quorum queue", In: inNode{},
		},
		{
			Pattern: "POST queues/quorum/replicas/on/{node}/grow", Tag: authz.Administrator, Serve: growReplicas, Scope: web.AllNodes,
			Summary: "Adds a node to the members of quorum queues",
		},
		{
			Pattern: "DELETE queues/quorum/replicas/on/{node}/shrink", Tag: authz.Administrator, Serve: shrinkReplicas, Scope: web.AllNodes,
			Summary: "Removes a node from the members of quorum queues",
		},
	}
}

// This broker is one node: a quorum queue has one member, which leads. What RabbitMQ does to the members of a queue is
// answered as RabbitMQ does on one node: it is so already, or it is refused. Source: RabbitMQ quorum-queues#management.

// quorumQueue makes sure that the path names a quorum queue.
func quorumQueue(r *web.Request) error {
	if _, err := r.VHost(r.PathValue("vhost")); err != nil {
		return err
	}
	var q vhost.QueueView
	var found bool
	if err := r.Look(r.PathValue("vhost"), func(v vhost.Reader) { q, found = v.Queue(r.PathValue("queue")) }); err != nil {
		return err
	}
	switch {
	case !found:
		return web.ErrNotFound
	case q.Type != "quorum":
		return web.BadRequest("queue '%s' in vhost '%s' is not a quorum queue", r.PathValue("queue"), r.PathValue("vhost"))
	}
	return nil
}

// getReplicas shows the one member of a quorum queue.
func getReplicas(r *web.Request) (web.Answer, error) {
	if err := quorumQueue(r); err != nil {
		return web.Answer{}, err
	}
	return web.OK(api.List[api.Replica]{{Node: r.Node, State: "leader", Membership: "voter"}})
}

// readNode reads the body of a request to add or delete a member.
func nodeOfBody(r *web.Request) (string, error) {
	var body struct {
		Node *string `json:"node"`
	}
	if err := r.Read(&body); err != nil {
		return "", err
	}
	if err := web.NeedKeys(web.Needed("node", body.Node != nil)); err != nil {
		return "", err
	}
	return *body.Node, nil
}

func addReplica(r *web.Request) (web.Answer, error) {
	if err := quorumQueue(r); err != nil {
		return web.Answer{}, err
	}
	name, err := nodeOfBody(r)
	if err != nil {
		return web.Answer{}, err
	}
	if name != r.Node {
		return web.Answer{}, web.BadRequest("node '%s' is not in this cluster, whose only node is %s", name, r.Node)
	}
	return web.NoContent() // it is a member
}

func deleteReplica(r *web.Request) (web.Answer, error) {
	if err := quorumQueue(r); err != nil {
		return web.Answer{}, err
	}
	name, err := nodeOfBody(r)
	if err != nil {
		return web.Answer{}, err
	}
	if name != r.Node {
		return web.Answer{}, web.BadRequest("node '%s' is not a member of the queue", name)
	}
	return web.Answer{}, errLastMember
}

var errLastMember = &api.Error{
	Status: http.StatusBadRequest, Kind: "bad_request", Reason: "the node is the only member of the queue: delete the queue instead",
}

// growReplicas adds this node to all queues, which have it.
func growReplicas(r *web.Request) (web.Answer, error) {
	if err := r.NeedNode(); err != nil {
		return web.Answer{}, err
	}
	return web.NoContent()
}

func shrinkReplicas(r *web.Request) (web.Answer, error) {
	if err := r.NeedNode(); err != nil {
		return web.Answer{}, err
	}
	return web.Answer{}, errLastMember
}

// rebalance has nothing to do: one node leads all queues.
func rebalance(*web.Request) (web.Answer, error) { return web.NoContent() }

// inNode is a body that names a node.
type inNode struct {
	Node string `json:"node"`
}
