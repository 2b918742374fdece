// What became of a queue's messages, and what was done to it: tabs of its page.
import { html } from '../../lib/html.js';
import { t } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { href, route, setQuery } from '../../lib/router.js';
import { useData } from '../../lib/live.js';
import { useRows } from '../../lib/list.js';
import { Table } from '../../lib/table.js';
import { Empty } from '../../lib/states.js';
import { may } from '../../lib/session.js';
import { quote } from '../messages/filter.js';
import { LettersTable, useLetters } from '../messages/message-table.js';
import { Detail, deedColumns } from './audit.js';
import { open } from '../../lib/layers.js';
import { deedOf } from './deed.js';

// QueueLetters are the letters that died in the queue first, or that are in it now.
export function QueueLetters({ vhost, name }) {
  const which = route.value.query.letters === 'into' ? 'into' : 'from';
  const filter = `${which === 'into' ? 'queue' : 'source'}:${quote(name)}`;
  const letters = useLetters(`x/letters/${path`${vhost}`}`, { filter, order: 'newest' });
  return html`<div class="buttons" role="group" aria-label=${t('letters.title')}>${['from', 'into'].map((w) => html`<button type="button" key=${w} aria-pressed=${w === which} onClick=${() => setQuery({ letters: w === 'from' ? '' : w })}>${t(`queue.letters_${w}`)}</button>`)}</div>
    <${LettersTable} id="queue-letters" letters=${letters} caption=${t(`queue.letters_${which}`)} actions=${() => html`<a class="button" href=${href('/letters', { vhost, filter, view: 'groups' })}>${t('queue.letters_groups')}</a>`}
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
