// Which page is shown at which path. A row is
//   path    a pattern, its names given to render as params
//   title   key of the title
//   nav     {group: see|flow|rules|admin, order, icon, key}: its place in the navigation and the key behind g; none for what is below another
//   under   path of the page whose place in the navigation is marked instead
//   needs   tag without which it is not offered
//   everywhere  true if it shows nothing of virtual hosts: who has none sees it all the same
//   load    imports the module, which exports render({params, query})
import { messages } from './registry-messages.js';
import { broker } from './registry-broker.js';

export const pages = [...messages, ...broker];
