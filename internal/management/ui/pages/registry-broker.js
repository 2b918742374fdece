// Pages about the broker: queues, exchanges, clients, rules, users, the node.
export const broker = [
  { path: '/queues', title: 'queues.title', nav: { group: 'flow', order: 1, icon: 'queues', key: 'q' }, load: () => import('./broker/queues.js') },
  { path: '/queues/new', title: 'create.title', under: '/queues', load: () => import('./broker/queue-new.js') },
  { path: '/queues/:vhost/:name', title: 'queue.title', under: '/queues', load: () => import('./broker/queue.js') },
  { path: '/exchanges', title: 'exchanges.title', nav: { group: 'flow', order: 2, icon: 'exchanges', key: 'e' }, load: () => import('./broker/exchanges.js') },
  { path: '/exchanges/:vhost/:name', title: 'exchange.title', under: '/exchanges', load: () => import('./broker/exchange.js') },
  { path: '/topology', title: 'topology.title', nav: { group: 'flow', order: 3, icon: 'topology', key: 't' }, load: () => import('./broker/topology.js') },
  { path: '/policies', title: 'policies.title', nav: { group: 'rules', order: 1, icon: 'policies', key: 'p' }, load: () => import('./broker/policies.js') },
  { path: '/policies/edit', title: 'policies.title', under: '/policies', needs: 'policymaker', load: () => import('./broker/policy.js') },
  { path: '/lint', title: 'lint.title', nav: { group: 'rules', order: 2, icon: 'lint', key: 'l' }, load: () => import('./broker/lint.js') },
];
