// The topology of one virtual host: exchanges, queues, and the ways of dead letters between them.
import { html, useMemo, useRef, useState } from '../../lib/html.js';
import { t, num } from '../../lib/i18n.js';
import { api, ask, path } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { href, route, setQuery } from '../../lib/router.js';
import { Empty, Shown } from '../../lib/states.js';
import { attempt, reasonOf } from '../../lib/layers.js';
import { Check, Select, TextField } from '../../lib/form.js';
import { useShortcuts } from '../../lib/keys.js';
import { save } from '../../lib/save.js';
import { OneVHost, oneVHost } from '../../lib/vhosts.js';
import { Findings } from './follow.js';
import { Graph, Nested, about, marksOf, nodeName, pageOf, pictureOf } from './graph-view.js';
import { connected } from './graph.js';

const drawnMax = 400;

export function render({ query }) {
  const vhost = oneVHost.value;
  const { root = '', depth = root ? '2' : '', view = 'graph' } = query;
  const [all, showAll] = useState(false);
  const svg = useRef();
  const asked = { root, depth: root ? depth : '', limit: drawnMax };
  const got = useData((signal) => api.get(path`x/topology/${vhost}`, asked, { signal }), [vhost, root, depth], {
    on: ['queues'],
    every: 10000,
    keep: false,
  });
  const shown = useSteady(got.data, all);
  return html`<div class="page-head"><h1>${t('topology.title')}</h1><${OneVHost} />
      <span class="buttons"><button type="button" aria-pressed=${view === 'graph'} onClick=${() => setQuery({ view: '' })}>${t('topology.as_graph')}</button>
        <button type="button" aria-pressed=${view === 'list'} onClick=${() => setQuery({ view: 'list' })}>${t('topology.as_list')}</button>
        <details class="menu"><summary>${t('table.export')}</summary><div>
          <button type="button" disabled=${view !== 'graph'} onClick=${() => svg.current && save(`${fileName(vhost)}.svg`, pictureOf(svg.current), 'image/svg+xml')}>SVG</button>
          ${['mermaid', 'dot'].map((format) => html`<button type="button" key=${format} onClick=${() => attempt(async () => save(`${fileName(vhost)}.${format === 'dot' ? 'dot' : 'mmd'}`, String((await ask('GET', path`x/topology/${vhost}`, { query: { ...asked, format }, headers: { Accept: '*/*' } })).data)))}>${format === 'dot' ? 'DOT' : 'Mermaid'}</button>`)}</div></details></span></div>
    <${Focus} vhost=${vhost} root=${root} depth=${depth} missing=${got.error?.missing} />
    ${!root && html`<${Check} label=${t('topology.all')} value=${all} onInput=${showAll} />`}
    ${
      got.error && root && !got.data
        ? html`<p class="banner bad" role="alert">${reasonOf(got.error)}</p>`
        : html`<${Shown} of=${got}>${(d) => html`
      ${d.partial && html`<p class="banner warn">${t('topology.partial', { shown: num(d.nodes.length), all: num(d.exchanges + d.queues) })}</p>`}
      ${d.root && html`<${Chosen} topology=${d} />`}
      ${
        d.queues === 0 && !root
          ? html`<${Empty} title=${t('topology.empty')} text=${t('topology.empty_text')}><p><a class="button" href=${href('/queues/new', { vhost })}>${t('queues.create')}</a></p></${Empty}>`
          : d.partial && !root
            ? html`<${Some} topology=${d} />`
            : view === 'list'
              ? html`<${Nested} topology=${shown || d} />`
              : html`<${Graph} topology=${shown || d} at=${svg} opens />`
      }
      <ul class="legend">${['binding', 'dead_letter', 'alternate', 'delayed'].map((k) => html`<li key=${k}><svg width="34" height="10" aria-hidden="true" class="graph-key"><path class=${`edge ${k}`} d="M0 5H34" /></svg> ${t(`edge.${k}`)}</li>`)}
        <li>↻ ${t('topology.loop')}</li><li>⊣ ${t('topology.dead_end')}</li><li>✕ ${t('topology.missing')}</li><li>! ${t('topology.finding_mark')}</li></ul>
      ${d.findings.length > 0 && html`<section class="card"><header><h2>${t('topology.findings', { n: d.findings.length })}</h2><span class="grow"></span><a href=${href('/lint', { vhost })}>${t('lint.title')}</a></header><${Findings} of=${d.findings.slice(0, 50)} /></section>`}`}</${Shown}>`
    }`;
}

const fileName = (vhost) => `topology-${vhost.replace(/[^\w-]+/g, '_')}`;

// useSteady keeps the topology while only figures change that the drawing does not show, so that it is not laid out again for nothing.
function useSteady(data, all) {
  const key = JSON.stringify([data?.root, data?.nodes, data?.edges, all]);
  return useMemo(() => (data ? (all || data.root ? data : connected(data)) : null), [key]);
}

function Focus({ vhost, root, depth }) {
  const [text, type] = useState('');
  const found = useData(
    async (signal) => {
      const one = async (list, kind) =>
        (
          await api.get(
            `${list}/${path`${vhost}`}`,
            { page: 1, page_size: 10, name: text, columns: 'name', disable_stats: true },
            { signal },
          )
        ).items.map((x) => `${kind}:${x.name}`);
      return [...(await one('queues', 'q')), ...(await one('exchanges', 'e'))];
    },
    [vhost, text],
    { enabled: text.length > 1, every: 0 },
  );
  const submit = (e) => {
    e.preventDefault();
    const exact = (found.data || []).find((id) => id === text || id.slice(2) === text) || found.data?.[0];
    if (exact || text) setQuery({ root: exact || text }, { push: true });
  };
  const form = useRef();
  useShortcuts({ '/': ['keys.filter', () => form.current.querySelector('input').focus()] });
  return html`<form class="form" ref=${form} onSubmit=${submit}>
    <${TextField} label=${t('topology.focus')} hint=${t('topology.focus_hint')} type="search" value=${text} onInput=${type} list=${found.data || []} />
    ${
      root &&
      html`<${Select} label=${t('topology.depth')} value=${depth} onInput=${(v) => setQuery({ depth: v === '2' ? '' : v })} options=${['1', '2', '3', '4', '6']} />
      <p class="buttons"><a class="button" href=${href(route.value.path, { vhost: route.value.query.vhost, view: route.value.query.view })}>${t('topology.whole')}</a></p>`
    }
  </form>`;
}

// Some shows those to look at first of too many: what is wrong, what dead letters come to, what has most messages.
function Some({ topology }) {
  const weight = (n) =>
    (({ error: 3e15, warning: 2e15, note: 0 })[n.severity] || 0) +
    (n.queue?.letters ? 1e15 : 0) +
    (n.queue ? n.queue.ready + n.queue.unacked : n.scheduled);
  const first = [...topology.nodes].sort((a, b) => weight(b) - weight(a)).slice(0, 100);
  return html`<div class="card nested"><h2>${t('topology.some')}</h2><ul>${first.map(
    (
      n,
    ) => html`<li key=${n.id}><span class="tag">${t(`bind.${n.kind}`)}</span> <a class="break" href=${href('/topology', { vhost: topology.vhost, root: n.id })}>${nodeName(n)}</a> <span class="hint">${about(n)}</span>
    ${marksOf(n).map(([m, text]) => html` <span class="tag warn" key=${text}>${m} ${text}</span>`)}</li>`,
  )}</ul></div>`;
}

function Chosen({ topology }) {
  const n = topology.nodes.find((x) => x.id === topology.root);
  if (!n) return null;
  return html`<p class="banner"><span class="tag">${t(`bind.${n.kind}`)}</span> <b class="break">${nodeName(n)}</b> ${about(n)} ${marksOf(n).map(([m, text]) => html`<span class="tag warn" key=${text}>${m} ${text}</span>`)}
    <span class="grow"></span>${!n.missing && html`<a class="button" href=${pageOf(topology.vhost, n)}>${t('topology.open')}</a>`}</p>`;
}
