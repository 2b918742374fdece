// Icons: drawn with strokes in the colour of the text, never the only thing that says something.
import { html } from './html.js';

const paths = {
  overview: 'M3 12l9-8 9 8M6 10v10h12V10',
  letters: 'M3 6h18v13H3zM3 6l9 7 9-7',
  queues: 'M4 6h16M4 12h16M4 18h16',
  exchanges: 'M4 12h6m0 0l8-6m-8 6l8 6M18 6v0M18 18v0',
  schedule: 'M4 6h16v15H4zM4 10h16M8 3v4M16 3v4',
  topology: 'M5 6h4v4H5zM15 4h4v4h-4zM15 16h4v4h-4zM9 8h6M9 9l7 8',
  connections: 'M8 12a4 4 0 0 1 4-4h2M16 12a4 4 0 0 1-4 4h-2M4 12h2M18 12h2',
  channels: 'M4 8h16M4 16h16M8 8v8M16 8v8',
  consumers: 'M4 5h11v14H4zM15 12h6m0 0l-3-3m3 3l-3 3',
  vhosts: 'M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z',
  definitions: 'M8 4c-3 0-1 8-4 8 3 0 1 8 4 8M16 4c3 0 1 8 4 8-3 0-1 8-4 8',
  policies: 'M6 3h9l4 4v14H6zM9 12h7M9 16h7',
  admin: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c1-4 4-6 8-6s7 2 8 6',
  node: 'M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01',
  jobs: 'M4 12a8 8 0 1 1 3 6M4 12V7M4 12h5',
  lint: 'M12 3l10 18H2zM12 10v5M12 18h.01',
  audit: 'M5 4h14v16H5zM9 9h6M9 13h6M9 17h3',
  search: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM21 21l-6-6',
  cross: 'M6 6l12 12M18 6L6 18',
  check: 'M5 13l5 5L19 7',
  warning: 'M12 3l10 18H2zM12 10v5M12 18h.01',
  menu: 'M4 7h16M4 12h16M4 17h16',
  play: 'M7 4l13 8-13 8z',
  pause: 'M8 5v14M16 5v14',
  sun: 'M12 17a5 5 0 1 0 0-10 5 5 0 0 0 0 10zM12 1v3M12 20v3M1 12h3M20 12h3M4 4l2 2M18 18l2 2M4 20l2-2M18 6l2-2',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  down: 'M6 9l6 6 6-6',
  right: 'M9 6l6 6-6 6',
  left: 'M15 6l-6 6 6 6',
  external: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  download: 'M12 4v11m0 0l-5-5m5 5l5-5M4 20h16',
  filter: 'M3 5h18l-7 8v6l-4 2v-8z',
  columns: 'M4 5h16v14H4zM10 5v14M15 5v14',
  rejected: 'M6 6l12 12M18 6L6 18',
  expired: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l4 2',
  maxlen: 'M5 5h14v4H5zM5 10h14v4H5zM5 15h14v4H5z',
  delivery_limit: 'M20 12a8 8 0 1 1-3-6M20 4v5h-5',
  republished: 'M4 6h16v12H4zM4 6l8 6 8-6M9 21h9M15 18l3 3-3 3',
  redrive: 'M20 12a8 8 0 1 1-3-6M20 3v5h-5',
  discard: 'M4 7h16M9 7V4h6v3M6 7l1 14h10l1-14',
  edit: 'M4 20l1-5L16 4l4 4L9 19z',
  note: 'M5 4h14v11l-5 5H5zM14 20v-5h5',
  plus: 'M12 5v14M5 12h14',
  user: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c1-4 4-6 8-6s7 2 8 6',
};

export function Icon({ name, label }) {
  return html`<svg class="icon" viewBox="0 0 24 24" width="18" height="18" role=${label ? 'img' : undefined} aria-label=${label} aria-hidden=${label ? undefined : 'true'}
    fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"><path d=${paths[name] || paths.note} /></svg>`;
}
