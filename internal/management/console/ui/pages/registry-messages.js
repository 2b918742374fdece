// Pages about messages: what died, what was lost, what waits, and what is done about it.
import { knowing } from './knowing.js';

const message = knowing(() => import('./deadletters/dead-letter.js'));
const jobs = () => import('./deadletters/jobs.js');

export const messages = [
  {
    path: '/',
    title: 'overview.title',
    nav: { group: 'see', order: 1, icon: 'overview', key: 'o' },
    load: () => import('./overview.js'),
  },
  {
    path: '/letters',
    title: 'letters.title',
    nav: { group: 'see', order: 2, icon: 'letters', key: 'd' },
    load: () => import('./deadletters/dead-letters.js'),
  },
  { path: '/letters/:vhost/queue/:queue/:id', title: 'letters.one', under: '/letters', load: message },
  { path: '/queues/:vhost/:queue/messages/:id', title: 'message.one', under: '/queues', load: message },
  {
    path: '/lost',
    title: 'lost.title',
    nav: { group: 'see', order: 3, icon: 'discard', key: 'l' },
    load: () => import('./deadletters/lost-letters.js'),
  },
  { path: '/letters/:vhost/lost/:id', title: 'lost.one', under: '/lost', load: message },
  { path: '/jobs', title: 'jobs.title', nav: { group: 'see', order: 4, icon: 'jobs', key: 'j' }, load: jobs },
  { path: '/jobs/:vhost/:id', title: 'jobs.job', under: '/jobs', load: jobs },
  {
    path: '/schedule',
    title: 'schedule.title',
    nav: { group: 'see', order: 5, icon: 'schedule', key: 's' },
    load: () => import('./schedule/schedule.js'),
  },
  {
    path: '/schedule/:vhost/:exchange/:id',
    title: 'scheduled.one',
    under: '/schedule',
    load: knowing(() => import('./schedule/scheduled-message.js')),
  },
];
