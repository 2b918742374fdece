// The list of virtual hosts.
import { html, useState } from '../../lib/html.js';
import { t, num, size } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { go, href, to } from '../../lib/router.js';
import { useRows } from '../../lib/list.js';
import { Table } from '../../lib/table.js';
import { Icon } from '../../lib/icon.js';
import { Cancel, Dialog, attempt, confirm, open } from '../../lib/layers.js';
import { Select, TextField, Check } from '../../lib/form.js';
import { Commands } from '../../lib/states.js';
import { here } from '../../lib/here.js';
import { vhostCommands } from '../code/commands.js';
import { loadVHosts } from '../../lib/vhosts.js';
import { Action } from '../../lib/action.js';
import { lacksTag } from '../../lib/rights.js';
import { useTaken } from './taken.js';
import { Rate, descriptionOf, queueType, rateOf, yesNo } from './parts.js';

const columnsOf = () => [
  {
    key: 'name',
    title: t('queues.name'),
    always: true,
    render: (v) => html`<a class="name-cell" href=${href(to`/vhosts/${v.name}`)}>${v.name}</a>`,
  },
  { key: 'description', title: t('vhosts.description'), value: descriptionOf },
  { key: 'tags', title: t('users.tags'), value: (v) => v.tags.join(', ') },
  {
    key: 'default_queue_type',
    title: t('vhosts.default_type'),
    render: (v) => queueType(v.default_queue_type),
  },
  { key: 'messages_ready', title: t('queues.ready'), align: 'end' },
  { key: 'messages_unacknowledged', title: t('queues.unacked'), align: 'end' },
  {
    key: 'message_stats.publish_details.rate',
    title: t('queues.in'),
    align: 'end',
    value: (v) => rateOf(v, 'publish'),
    render: (v) => html`<${Rate} of=${v} name="publish" />`,
  },
  {
    key: 'message_stats.deliver_get_details.rate',
    title: t('queues.out'),
    align: 'end',
    value: (v) => rateOf(v, 'deliver_get'),
    render: (v) => html`<${Rate} of=${v} name="deliver_get" />`,
  },
  {
    key: 'recv',
    title: t('connections.from'),
    align: 'end',
    off: true,
    value: (v) => v.recv_oct,
    render: (v) => size(v.recv_oct),
  },
  {
    key: 'send',
    title: t('connections.to'),
    align: 'end',
    off: true,
    value: (v) => v.send_oct,
    render: (v) => size(v.send_oct),
  },
  { key: 'protected', title: t('vhosts.protected'), value: (v) => yesNo(v.protected_from_deletion) },
  {
    key: 'state',
    title: t('message.state'),
    value: (v) => Object.values(v.cluster_state)[0] || '',
    render: (v) => {
      const s = Object.values(v.cluster_state)[0];
      return html`<span class=${`tag ${s === 'running' ? 'good' : 'bad'}`}>${s === 'running' ? t('vhosts.running') : t('vhosts.down')}</span>`;
    },
  },
];

export function render() {
  const got = useData((signal) => api.get('vhosts', {}, { signal }), [], { on: ['overview'], every: 10000 });
  const columns = columnsOf();
  const source = useRows(got, columns, { usual: { sort: 'name' } });
  return html`<div class="page-head"><h1>${t('vhosts.title')}</h1><${Action} lacks=${lacksTag('administrator')} onClick=${createVHost}><${Icon} name="plus" /> ${t('vhosts.create')}</${Action}></div>
    <${Table} id="vhosts" caption=${t('vhosts.title')} source=${source} columns=${columns} onOpen=${(v) => go(to`/vhosts/${v.name}`)} />`;
}

// createVHost asks for what a virtual host shall be, makes it, and shows it.
export async function createVHost() {
  const name = await open(EditVHost);
  if (!name) return;
  loadVHosts();
  go(to`/vhosts/${name}`);
}

// EditVHost makes a virtual host, or changes one. It closes with the name. Making one that exists is refused: the API would change it.
export function EditVHost({ close, known }) {
  const [f, set] = useState({
    name: known?.name || '',
    description: known?.description || '',
    tags: known?.tags.join(', ') || '',
    type: known?.default_queue_type || 'classic',
    keep: known?.protected_from_deletion || false,
  });
  const put = (name) => (v) => set({ ...f, [name]: v });
  const taken = useTaken('vhosts', !known);
  const exists = taken.has(f.name) ? t('vhosts.exists', { name: f.name }) : undefined;
  const body = {
    description: f.description,
    tags: f.tags,
    default_queue_type: f.type,
    protected_from_deletion: f.keep,
  };
  const submit = async (e) => {
    e.preventDefault();
    let free = false;
    if (!(await attempt(async () => (free = await taken.free(f.name)))) || !free) return;
    if (await attempt(() => api.put(path`vhosts/${f.name}`, body), t('vhosts.saved', { name: f.name }))) close(f.name);
  };
  return html`<${Dialog} title=${known ? known.name : t('vhosts.create')} close=${() => close()} actions=${html`<${Cancel} /><button type="submit" form="vhost" class="primary">${t(known ? 'policies.save' : 'create.do')}</button>`}>
    <form id="vhost" onSubmit=${submit}>
      <${TextField} label=${t('queues.name')} value=${f.name} readonly=${!!known} error=${exists} onInput=${put('name')} required autofocus=${!known} />
      <${TextField} label=${t('vhosts.description')} value=${f.description} onInput=${put('description')} />
      <${TextField} label=${t('users.tags')} value=${f.tags} onInput=${put('tags')} />
      <${Select} label=${t('vhosts.default_type')} value=${f.type} onInput=${put('type')} options=${['classic', 'quorum'].map((type) => [type, queueType(type)])} />
      <${Check} label=${t('vhosts.protect')} value=${f.keep} onInput=${put('keep')} />
    </form>
    ${f.name && html`<${Commands} commands=${vhostCommands(here(), f.name, body, known)} />`}</${Dialog}>`;
}

// removeVHost asks, and deletes a virtual host with all that is in it.
export async function removeVHost(v) {
  const sure = await confirm({
    title: t('vhosts.delete_title', { name: v.name }),
    text: t('vhosts.delete_text', { messages: v.messages ?? 0 }),
    action: t('queues.delete'),
    danger: true,
    typed: v.name,
  });
  return sure && attempt(() => api.delete(path`vhosts/${v.name}`), t('vhosts.deleted', { name: v.name }));
}
