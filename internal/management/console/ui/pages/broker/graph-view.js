// The drawing of a topology in SVG, and the list that tells the same.
import { html, useEffect, useMemo, useRef, useState } from '../../lib/html.js';
import { t, num, word, lang } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { href, to } from '../../lib/router.js';
import { Loading } from '../../lib/states.js';
import { exchangeName } from './parts.js';
import { curve, deadEnd, labelOf, layout, tree } from './graph.js';

// useLayout loads the layouter, and places a topology, again when the key changes.
export function useLayout(topology, key = topology, ranksep = undefined) {
  const [dagre, set] = useState(null);
  useEffect(() => {
    import('../../vendor/dagre.mjs').then(set, () => set(false));
  }, []);
  return useMemo(
    () =>
      dagre &&
      layout(dagre, topology, { ownKeys: t('topology.own_keys'), defaultExchange: t('exchange.default'), ranksep }),
    [dagre, key, lang()],
  );
}

export const nodeName = (n) => n.name || (n.kind === 'exchange' ? t('exchange.default') : '');

// marksOf are what is to be noticed about a node, in words.
export function marksOf(n) {
  const all = [];
  if (n.missing) all.push(['✕', t('topology.missing')]);
  if (n.queue?.loop) all.push(['↻', t('topology.loop')]);
  if (deadEnd(n)) all.push(['⊣', t('topology.dead_end')]);
  if (n.severity) all.push(['!', t('topology.finding', { severity: word('severity', n.severity) })]);
  if (n.hidden) all.push([`+${n.hidden}`, t('topology.hidden', { n: n.hidden })]);
  return all;
}

// about is a node in one line.
export function about(n) {
  if (n.queue) {
    const q = n.queue;
    return [
      ...(q.role ? [word('queue_role', q.role)] : []),
      word('queue_state', q.state),
      t('topology.messages', { n: q.ready + q.unacked + q.waiting + q.held }),
      t('topology.consumers', { n: q.consumers }),
    ].join(' · ');
  }
  return [n.type || t('topology.missing'), n.scheduled ? t('topology.scheduled', { n: n.scheduled }) : '']
    .filter(Boolean)
    .join(' · ');
}

// smallest is how far a drawing shrinks to fit before it scrolls.
const smallest = 0.6;

const nodeLink = (vhost, id) => href('/topology', { vhost, root: id });

// pageOf is the page of a node.
export const pageOf = (vhost, n) =>
  href(n.kind === 'queue' ? to`/queues/${vhost}/${n.name}` : to`/exchanges/${vhost}/${exchangeName(n.name)}`);

let stepped = ''; // the node that was chosen in a drawing: in the next one it gets the focus

// arrive gives the focus to the node that was chosen, where it is shown now.
function arrive(within, root) {
  if (!root || root !== stepped) return;
  stepped = '';
  within.querySelector(`[data-node="${CSS.escape(root)}"]`)?.focus();
}

function Node({ of, vhost, root, opens }) {
  const { node: n, x, y, w, h, title } = of;
  const marks = marksOf(n);
  const text = t('frame.pair', {
    name: `${t(`bind.${n.kind}`)} ${nodeName(n)}`,
    value: [about(n), ...marks.map(([, m]) => m)].join(t('frame.clause')),
  });
  const full = n.queue?.max_length ? Math.min(1, n.queue.ready / n.queue.max_length) : 0;
  const round = n.kind === 'exchange' ? h / 2 : 5;
  const sub = n.queue
    ? `${num(n.queue.ready + n.queue.unacked)}${n.queue.waiting ? ` + ${t('topology.waiting', { n: n.queue.waiting })}` : ''}`
    : n.type || '?';
  const signs = marks.map(([m]) => m).join(' ');
  const open = opens && n.id === root && !n.missing;
  return html`<a href=${open ? pageOf(vhost, n) : nodeLink(vhost, n.id)} onClick=${() => {
    stepped = opens && !open ? n.id : '';
  }} aria-label=${`${title} ${sub} ${signs} – ${text}${open ? ` – ${t('topology.open')}` : ''}`} data-tip=${text} data-node=${n.id}><g class=${`node ${n.kind} ${n.missing ? 'missing' : ''} ${n.severity} ${n.id === root ? 'at' : ''}`} transform=${`translate(${x - w / 2} ${y - h / 2})`}><title>${text}</title>
    <rect class="shape" width=${w} height=${h} rx=${round} />
    ${full > 0 && html`<rect class="fill" x="2" y=${2 + (h - 4) * (1 - full)} width=${w - 4} height=${(h - 4) * full} rx="3" />`}
    <text x=${w / 2} y="20" text-anchor="middle">${title}</text>${' '}
    <text class="sub" x=${w / 2} y="36" text-anchor="middle">${sub} <tspan class="mark">${signs}</tspan></text></g></a>`;
}

// Graph draws a topology; at is where SVG's element is kept, for export. With opens the node that it is around leads to its own page.
export function Graph({ topology, at, opens = false }) {
  const placed = useLayout(topology);
  const own = useRef();
  const box = at || own;
  useEffect(() => {
    const chosen = placed && placed.nodes.find((p) => p.node.id === topology.root);
    const frame = box.current?.parentElement;
    if (!chosen || !frame) return; // the page itself stays where it is
    const scale = box.current.clientWidth / placed.width || 1;
    frame.scrollLeft = chosen.x * scale - frame.clientWidth / 2;
    frame.scrollTop = chosen.y * scale - frame.clientHeight / 2;
    arrive(box.current, topology.root);
  }, [placed]);
  if (!placed) return html`<${Loading} />`;
  return html`<div class="graph" tabindex="0" role="region" aria-label=${t('topology.graph')}><svg ref=${box} xmlns="http://www.w3.org/2000/svg" role="group" aria-label=${t('topology.graph')} width=${placed.width} height=${placed.height} style=${{ maxWidth: `${placed.width}px`, minWidth: `${Math.round(placed.width * smallest)}px` }} viewBox=${`0 0 ${placed.width} ${placed.height}`}>
    <defs>${['', 'dl'].map((c) => html`<marker id=${`arrow${c}`} class=${c} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" /></marker>`)}</defs>
    ${placed.edges.map(
      (
        { edge: e, points, label, x, y },
        i,
      ) => html`<g key=${i}><path class=${`edge ${e.kind} ${e.loop ? 'loop' : ''}`} d=${curve(points)} marker-end=${`url(#arrow${e.kind === 'dead_letter' ? 'dl' : ''})`} /><title>${t(`edge.${e.kind}`)}</title>
      ${(label || e.loop) && html`<text class="edge-label" x=${x} y=${y + 4} text-anchor="middle">${label}${e.loop ? ' ↻' : ''}</text>`}</g>`,
    )}
    ${placed.nodes.map((p) => html`<${Node} key=${p.node.id} of=${p} vhost=${topology.vhost} root=${topology.root} opens=${opens} />`)}
  </svg></div>`;
}

const aroundMax = 40;

// Way draws what is two steps around a queue or an exchange; nothing if that is too much, or nothing at all.
export function Way({ vhost, root }) {
  const got = useData(
    (signal) => api.get(path`x/topology/${vhost}`, { root, depth: 2, limit: aroundMax }, { signal }),
    [vhost, root],
    { every: 15000 },
  );
  const key = JSON.stringify([got.data?.nodes, got.data?.edges]);
  const topology = useMemo(() => got.data, [key]);
  return topology && !topology.partial && topology.edges.length > 0 ? html`<${Graph} topology=${topology} />` : null;
}

function Branch({ of, vhost }) {
  const { node: n, edge, again, children } = of;
  const marks = marksOf(n);
  const label = edge ? labelOf(edge, t('topology.own_keys')) : '';
  return html`<li>${edge && html`<span class="faint">${t(`edge.${edge.kind}`)}${label ? ` “${label}”` : ''}${edge.loop ? ` (${t('topology.loop')})` : ''} → </span>`}
    <span class="tag">${t(`bind.${n.kind}`)}</span> <a class="break" href=${nodeLink(vhost, n.id)} data-node=${n.id} onClick=${() => {
      stepped = n.id;
    }}>${nodeName(n)}</a> <span class="hint">${about(n)}</span>
    ${marks.map(([m, text]) => html` <span class="tag warn" key=${text}>${m} ${text}</span>`)}
    ${again && edge && html` <span class="faint">${t('topology.above')}</span>`}
    ${children.length > 0 && html`<ul>${children.map((c, i) => html`<${Branch} key=${i} of=${c} vhost=${vhost} />`)}</ul>`}</li>`;
}

// Nested is the topology as a nested list.
export function Nested({ topology }) {
  const box = useRef();
  useEffect(() => arrive(box.current, topology.root), [topology.root]);
  return html`<div class="card nested" ref=${box}><ul>${tree(topology).map((b) => html`<${Branch} key=${b.node.id} of=${b} vhost=${topology.vhost} />`)}</ul></div>`;
}

// pictureOf is the drawing as a file that looks the same anywhere.
export function pictureOf(svg) {
  const copy = svg.cloneNode(true);
  copy.removeAttribute('style');
  const from = svg.querySelectorAll('*');
  copy.querySelectorAll('*').forEach((el, i) => {
    const style = getComputedStyle(from[i]);
    for (const name of [
      'fill',
      'stroke',
      'stroke-width',
      'stroke-dasharray',
      'font-size',
      'font-family',
      'font-weight',
      'paint-order',
    ])
      el.setAttribute(name, style.getPropertyValue(name));
    if (el.tagName === 'a') el.removeAttribute('href');
  });
  const ground = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  ground.setAttribute('width', '100%');
  ground.setAttribute('height', '100%');
  ground.setAttribute('fill', getComputedStyle(svg.parentElement).backgroundColor);
  copy.prepend(ground);
  return new XMLSerializer().serializeToString(copy);
}
