// Pages about messages: what died, what was lost, what waits, and what is done about it.
export const office = [
  { path: '/', title: 'overview.title', nav: { group: 'see', order: 1, icon: 'overview', key: 'o' }, load: () => import('./overview.js') },
];
