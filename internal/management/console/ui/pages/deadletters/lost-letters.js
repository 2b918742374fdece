// The lost letters: dead letters that found no place, and those that were discarded.
import { html } from '../../lib/html.js';
import { t, num, size, word } from '../../lib/i18n.js';
import { route, setQuery, useKept } from '../../lib/router.js';
import { api } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { Empty } from '../../lib/states.js';
import { Icon } from '../../lib/icon.js';
import { useShortcuts } from '../../lib/keys.js';
import { confirm, attempt } from '../../lib/layers.js';
import { path } from '../../lib/api.js';
import { first, lacksTag, rightsIn } from '../../lib/rights.js';
import { Action } from '../../lib/action.js';
import { OneVHost, oneVHost } from '../../lib/vhosts.js';
import { OtherVHosts } from './other-vhosts.js';
import { base, keyOf } from '../messages/address.js';
import { MessagesTable, useMessages } from '../messages/message-table.js';
import { faultOf } from '../messages/badges.js';
import { FilterBox } from '../messages/filter-box.js';
import { beginRedrive } from './redrive.js';
import { scopesOf } from './job-scopes.js';
import { lostLettersCommand } from '../code/commands.js';

export function render() {
  const v = oneVHost.value;
  const filter = route.value.query.filter || '';
  const selection = useKept('selection', new Set());
  const lostStore = useData(
    async (abort) => (await api.get('x/lost-letters', {}, { signal: abort })).find((s) => s.vhost === v),
    [v],
    { on: ['letters'] },
  );
  const messages = useMessages(base(v, '', true), { filter, order: 'newest' }, { hold: selection[0].size > 0 });
  const chosen = messages.items.filter((l) => selection[0].has(keyOf(l)));
  const scopes = () =>
    chosen.length
      ? scopesOf(chosen)
      : [{ source: { lost: true }, filter, count: filter ? undefined : lostStore.data?.messages }];
  const done = () => {
    selection[1](new Set());
    messages.refresh();
  };
  const redrive = () => beginRedrive(v, scopes()).then(done);
  const erase = async () => {
    if (
      await confirm({
        title: t('lost.erase_title', { n: chosen.length }),
        text: t('lost.erase_text'),
        action: t('lost.erase'),
        danger: true,
        typed: chosen.length > 1000 ? chosen.length : '',
      })
    ) {
      await attempt(
        async () => {
          for (const l of chosen) await api.delete(`x/lost-letters/${path`${v}/${l.id}`}`);
        },
        t('lost.erased', { n: chosen.length }),
      );
      done();
    }
  };
  const lacks = first(messages.wrong, lacksTag('policymaker'), rightsIn(v).deadLetters('redrive'));
  const lacksErase = lacksTag('policymaker');
  useShortcuts(
    {
      r: ['keys.redrive', redrive, lacks],
      Delete: ['keys.discard', erase, lacksErase || (chosen.length === 0 && t('letters.select_first'))],
    },
    [chosen.length, filter, v, lacks, lacksErase],
  );
  const s = lostStore.data;
  return html`<div class="page-head"><h1>${t('lost.title')}</h1><${OneVHost} /></div><p class="faint">${t('lost.about')}</p>
    <${OtherVHosts} page="/lost" countOf=${(s) => s.lost.messages} />
    ${
      s &&
      html`<div class="cards"><div class="stat"><b>${num(s.messages)}</b><span>${t('lost.kept')}</span></div><div class="stat"><b>${size(s.bytes)}</b><span>${t('lost.bytes')}</span></div>
      <div class=${`stat ${s.evicted ? 'bad' : ''}`}><b>${num(s.evicted)}</b><span>${t('lost.evicted')}</span></div>
      ${Object.entries(s.by_cause).map(
        ([cause, n]) =>
          html`<a class="stat" href="#" onClick=${(e) => {
            e.preventDefault();
            setQuery({ filter: `cause:${cause}` }, { push: true });
          }}><b>${num(n)}</b><span>${word('cause', cause)}</span></a>`,
      )}</div>`
    }
    <${FilterBox} filter=${filter} change=${(f) => setQuery({ filter: f })} error=${messages.error?.status === 400 ? faultOf(messages.error) : ''} />
    <${MessagesTable} id="lost" caption=${t('lost.title')} messages=${messages} selection=${selection}
      actions=${() => html`<${Action} className=${chosen.length ? 'primary' : ''} lacks=${lacks} onClick=${redrive}><${Icon} name="redrive" /> ${chosen.length ? t('redrive.n', { n: chosen.length }) : t('redrive.all')}</${Action}>
        ${chosen.length > 0 && html`<${Action} className="danger" lacks=${lacksErase} onClick=${erase}>${t('lost.erase')}</${Action}>`}`}
      empty=${html`<${Empty} title=${filter ? t('letters.none_found') : t('lost.empty')} text=${filter ? t('letters.none_found_text') : t('lost.empty_text')} cli=${filter ? null : lostLettersCommand} docs="dead-letters.md" />`} />`;
}
