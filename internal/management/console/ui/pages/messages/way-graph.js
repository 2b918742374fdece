// The drawing of the way that a message took.
import { html } from '../../lib/html.js';
import { t, word } from '../../lib/i18n.js';
import { href, to } from '../../lib/router.js';
import { Loading } from '../../lib/states.js';
import { curve } from '../broker/graph.js';
import { useLayout } from '../broker/graph-view.js';
import { exchangeName } from '../broker/parts.js';
import { wayOf } from './timeline.js';

// linkOf is the page of a part of the way; the publisher and the lost letters have none.
const linkOf = (vhost, n) =>
  n.kind === 'queue'
    ? href(to`/queues/${vhost}/${n.name}`)
    : n.kind === 'exchange'
      ? href(to`/exchanges/${vhost}/${exchangeName(n.name)}`)
      : n.kind === 'lost'
        ? href('/lost', { vhost })
        : undefined;

const kindOf = (n) =>
  n.now ? t('viewer.now') : n.kind === 'start' ? '' : n.kind === 'lost' ? '' : t(`bind.${n.kind}`);

function Node({ of: { node: n, x, y, w, h, title }, vhost }) {
  const sub = kindOf(n);
  const text = [title, sub, title === n.name ? '' : n.name].filter(Boolean).join(' ');
  const link = linkOf(vhost, n);
  const inside = html`<g class=${`node ${n.kind} ${n.now ? 'at' : ''}`} transform=${`translate(${x - w / 2} ${y - h / 2})`}><title>${text}</title>
    <rect class="shape" width=${w} height=${h} rx=${n.kind === 'exchange' || n.kind === 'start' ? h / 2 : 7} />
    <text x=${w / 2} y=${sub ? 20 : 28} text-anchor="middle">${title}</text>${' '}${sub && html`<text class="sub" x=${w / 2} y="36" text-anchor="middle">${sub}</text>`}</g>`;
  return link ? html`<a href=${link} aria-label=${text}>${inside}</a>` : inside;
}

const shownReasons = ['rejected', 'expired', 'maxlen', 'delivery_limit', 'republished'];

const edgeText = (e) => (e.reason ? word('reason', e.reason) : e.kind === 'redrive' ? t('redrive.one') : e.key || '');

// WayGraph draws it; at is where SVG's element is kept, for a picture of it.
export function WayGraph({ message: l, at }) {
  const way = wayOf(l);
  const nodes = way.nodes.map((n) => ({
    ...n,
    name: n.kind === 'start' ? t('viewer.published') : n.kind === 'lost' ? t('letters.lost_store') : n.name,
  }));
  const edges = way.edges.map((e) => ({
    ...e,
    own_keys: false,
    keys: [`${edgeText(e)}${e.count > 1 ? ` ×${e.count}` : ''}`],
    count: 1,
    as: e.kind,
    kind: 'dead_letter', // whose label is shown as it is
  }));
  const placed = useLayout({ nodes, edges, root: '' }, JSON.stringify([nodes, edges]), 44);
  if (!placed) return html`<${Loading} />`;
  return html`<div class="graph way" tabindex="0" role="region" aria-label=${t('viewer.graph')}><svg ref=${at} xmlns="http://www.w3.org/2000/svg" role="group" aria-label=${t('viewer.graph')} width=${placed.width} height=${placed.height} style=${{ maxWidth: `${placed.width}px`, minWidth: `${Math.round(placed.width * 0.6)}px` }} viewBox=${`0 0 ${placed.width} ${placed.height}`}>
    <defs>${['publish', 'redrive', ...shownReasons].map((k) => html`<marker id=${`way-${k}`} class=${shownReasons.includes(k) ? `died-${k}` : k} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" /></marker>`)}</defs>
    ${placed.edges.map(
      (
        { edge: e, points, label, x, y },
        i,
      ) => html`<g key=${i} class=${e.of ? `died-${e.of}` : ''}><path class=${`edge ${e.as}`} d=${curve(points)} marker-end=${`url(#way-${e.of || e.as})`} />
      ${label && html`<text class=${`edge-label ${e.reason ? 'reason' : ''}`} x=${x} y=${y + 4} text-anchor="middle">${label}</text>`}</g>`,
    )}
    ${placed.nodes.map((p) => html`<${Node} key=${p.node.id} of=${p} vhost=${l.vhost} />`)}
  </svg></div>`;
}
