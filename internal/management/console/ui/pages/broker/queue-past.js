// What became of a queue's messages, and what was done to it: tabs of its page.
import { html } from '../../lib/html.js';
import { t, num } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { href, route, setQuery } from '../../lib/router.js';
import { useData } from '../../lib/live.js';
import { useRows } from '../../lib/list.js';
import { Table } from '../../lib/table.js';
import { Empty, Shown } from '../../lib/states.js';
import { may } from '../../lib/session.js';
import { quote } from '../messages/filter.js';
import { MessagesTable, useMessages } from '../messages/message-table.js';
import { Detail, deedColumns } from './audit.js';
import { open } from '../../lib/layers.js';
import { deedOf } from './deed.js';

// The two lists of dead letters that a queue has: those that are in it, and those that died in it first.
const listed = { into: 'queue', from: 'source' };
const filterOf = (which, name) => `${listed[which]}:${quote(name)}`;

// QueueDeadLetters shows one of them: unless the address says which, what arrived here if there is any.
export function QueueDeadLetters({ vhost, name }) {
  const counts = useData(
    async (signal) => {
      const count = async (which) => {
        const query = { by: 'reason', filter: filterOf(which, name), limit: 1 };
        const got = await api.get(`x/letters/${path`${vhost}`}/groups`, query, { signal });
        return got.total + (got.without || 0);
      };
      const [into, from] = await Promise.all([count('into'), count('from')]);
      return { into, from };
    },
    [vhost, name],
    { on: ['letters'] },
  );
  const asked = route.value.query.letters;
  return html`<${Shown} of=${counts}>${(n) => {
    const which = listed[asked] ? asked : n.into > 0 ? 'into' : 'from';
    return html`<div class="buttons" role="group" aria-label=${t('letters.title')}>${Object.keys(listed).map((w) => html`<button type="button" key=${w} aria-pressed=${w === which} onClick=${() => setQuery({ letters: w })}>${t(`queue.letters_${w}`)} <small>${num(n[w])}</small></button>`)}</div>
      <${Listed} key=${which} ...${{ vhost, name, which }} />`;
  }}</${Shown}>`;
}

function Listed({ vhost, name, which }) {
  const filter = filterOf(which, name);
  const messages = useMessages(`x/letters/${path`${vhost}`}`, { filter, order: 'newest' });
  return html`<${MessagesTable} id="queue-letters" messages=${messages} caption=${t(`queue.letters_${which}`)} actions=${() => html`<a class="button" href=${href('/letters', { vhost, filter, view: 'groups' })}>${t('queue.letters_groups')}</a>`}
      empty=${html`<${Empty} title=${t('queue.no_letters')} text=${t(`queue.no_letters_${which}`)} docs="dead-letters.md" />`} />`;
}

// past reads what was done to a queue by hand, the newest first: from the audit, and jobs, for those who may not see that.
async function past(vhost, name, signal) {
  const [deeds, jobs] = await Promise.all([
    may('administrator')
      ? api.get('x/audit', { page: 1, page_size: 500, name: encodeURIComponent(name) }, { signal }).then((a) => a.items)
      : [],
    api.get(`x/redrives/${path`${vhost}`}`, {}, { signal }),
  ]);
  const about = (d) => d && d.vhost === vhost && [d.name, ...d.parts].some((x) => x === name || x === `→ ${name}`);
  const begun = jobs
    .filter((j) => j.source.queue === name)
    .map((j) => ({
      id: `job ${j.id}`,
      at: j.begun,
      user: j.user,
      from: '',
      action: 'POST',
      object: `/api/x/redrives/${path`${vhost}`}`,
      status: 202,
      detail: j,
    }));
  return [...deeds.filter((d) => about(deedOf(d))), ...begun].sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
}

export function QueueHistory({ vhost, name }) {
  const got = useData((signal) => past(vhost, name, signal), [vhost, name], { on: ['jobs'], every: 15000 });
  const columns = deedColumns()
    .filter((c) => ['at', 'user', 'deed', 'detail'].includes(c.key))
    .map((c) => ({ ...c, sort: false }));
  const source = useRows(got, columns, { prefix: 'h.' });
  return html`<${Table} id="queue-history" caption=${t('queue.history')} source=${source} columns=${columns} keyOf=${(d) => String(d.id)} onOpen=${(deed) => open(Detail, { deed })} filter=${false}
    empty=${html`<${Empty} title=${t('queue.no_history')} text=${t('queue.no_history_text')} docs="audit.md" />`} />`;
}
