// Pages about the broker: queues, exchanges, clients, rules, users, the node.
import { knowing } from './knowing.js';

export const broker = [
  {
    path: '/queues',
    title: 'queues.title',
    nav: { group: 'flow', order: 1, icon: 'queues', key: 'q' },
    load: knowing(() => import('./broker/queues.js')),
  },
  {
    path: '/queues/new',
    title: 'create.title',
    under: '/queues',
    load: knowing(() => import('./broker/queue-new.js')),
  },
  {
    path: '/queues/:vhost/:name',
    title: 'queue.title',
    under: '/queues',
    load: knowing(() => import('./broker/queue.js')),
  },
  {
    path: '/exchanges',
    title: 'exchanges.title',
    nav: { group: 'flow', order: 2, icon: 'exchanges', key: 'e' },
    load: knowing(() => import('./broker/exchanges.js')),
  },
  {
    path: '/exchanges/:vhost/:name',
    title: 'exchange.title',
    under: '/exchanges',
    load: knowing(() => import('./broker/exchange.js')),
  },
  {
    path: '/topology',
    title: 'topology.title',
    nav: { group: 'flow', order: 3, icon: 'topology', key: 't' },
    load: () => import('./broker/topology.js'),
  },
  {
    path: '/connections',
    title: 'connections.title',
    nav: { group: 'flow', order: 4, icon: 'connections', key: 'c' },
    load: knowing(() => import('./broker/clients.js').then((m) => ({ render: m.renderConnections }))),
  },
  {
    path: '/channels',
    title: 'channels.title',
    nav: { group: 'flow', order: 5, icon: 'channels', key: 'h' },
    load: knowing(() => import('./broker/clients.js').then((m) => ({ render: m.renderChannels }))),
  },
  {
    path: '/consumers',
    title: 'consumers.title',
    nav: { group: 'flow', order: 6, icon: 'consumers', key: 'k' },
    load: knowing(() => import('./broker/clients.js').then((m) => ({ render: m.renderConsumers }))),
  },
  {
    path: '/policies',
    title: 'policies.title',
    nav: { group: 'rules', order: 1, icon: 'policies', key: 'p' },
    load: knowing(() => import('./broker/policies.js')),
  },
  {
    path: '/policies/edit',
    title: 'policies.title',
    called: ({ policy, operator }) =>
      policy
        ? ['policies.edit', { name: policy }]
        : [operator === '1' ? 'policies.create_operator' : 'policies.create'],
    under: '/policies',
    needs: 'policymaker',
    load: knowing(() => import('./broker/policy.js')),
  },
  {
    path: '/lint',
    title: 'lint.title',
    nav: { group: 'rules', order: 2, icon: 'lint', key: 'i' },
    load: () => import('./broker/lint.js'),
  },
  {
    path: '/users',
    title: 'users.title',
    nav: { group: 'admin', order: 1, icon: 'admin', key: 'u' },
    needs: 'administrator',
    load: () => import('./broker/users.js'),
  },
  {
    path: '/users/:name',
    title: 'users.user',
    under: '/users',
    needs: 'administrator',
    load: () => import('./broker/user.js'),
  },
  {
    path: '/vhosts',
    title: 'vhosts.title',
    nav: { group: 'admin', order: 2, icon: 'vhosts', key: 'v' },
    load: () => import('./broker/vhosts.js'),
  },
  { path: '/vhosts/:name', title: 'queues.vhost', under: '/vhosts', load: () => import('./broker/vhost.js') },
  {
    path: '/definitions',
    title: 'definitions.title',
    nav: { group: 'admin', order: 3, icon: 'definitions', key: 'f' },
    needs: 'administrator',
    load: () => import('./broker/definitions.js'),
  },
  {
    path: '/audit',
    title: 'audit.title',
    nav: { group: 'admin', order: 4, icon: 'audit', key: 'a' },
    needs: 'administrator',
    load: () => import('./broker/audit.js'),
  },
  {
    path: '/node',
    title: 'node.title',
    nav: { group: 'admin', order: 5, icon: 'node', key: 'n' },
    needs: 'monitoring',
    load: () => import('./broker/node.js'),
  },
  {
    path: '/monitoring',
    title: 'monitoring.title',
    under: '/node',
    needs: 'monitoring',
    load: () => import('./broker/monitoring.js'),
  },
  {
    path: '/features',
    title: 'features.title',
    nav: { group: 'admin', order: 6, icon: 'check' },
    everywhere: true,
    load: () => import('./broker/features.js'),
  },
];
