// Pages about the broker: queues, exchanges, clients, rules, users, the node.
export const broker = [];
