// Pages about the broker: queues, exchanges, clients, rules, users, the node.
export const broker = [
  { path: '/queues', title: 'queues.title', nav: { group: 'flow', order: 1, icon: 'queues', key: 'q' }, load: () => import('./broker/queues.js') },
  { path: '/queues/new', title: 'create.title', under: '/queues', load: () => import('./broker/queue-new.js') },
  { path: '/queues/:vhost/:name', title: 'queue.title', under: '/queues', load: () => import('./broker/queue.js') },
];
