// Dead letters: how many, why, from where; in groups or one by one; and what to do about them.
import { html, useState } from '../../lib/html.js';
import { t, dateTime, num, percent, span, word } from '../../lib/i18n.js';
import { go, href, route, setQuery, to, useKept } from '../../lib/router.js';
import { address, api, path } from '../../lib/api.js';
import { now, useData } from '../../lib/live.js';
import { useRows } from '../../lib/list.js';
import { Table } from '../../lib/table.js';
import { Empty } from '../../lib/states.js';
import { Sparkline } from '../../lib/chart.js';
import { Ago } from '../../lib/time.js';
import { Icon } from '../../lib/icon.js';
import { Check, TextArea, TextField } from '../../lib/form.js';
import { Cancel, Dialog, attempt, open, toast } from '../../lib/layers.js';
import { useShortcuts } from '../../lib/keys.js';
import { rightsIn } from '../../lib/rights.js';
import { Action } from '../../lib/action.js';
import { OneVHost, oneVHost } from '../../lib/vhosts.js';
import { OtherVHosts } from './other-vhosts.js';
import { keyOf, page } from '../messages/address.js';
import { IndexState, MessagesTable, useCompleted, useFound, useMessages } from '../messages/message-table.js';
import { FilterBox, useRefusal } from '../messages/filter-box.js';
import { beginRedrive, scopesByFilter } from './redrive.js';
import { atOnce, countOf, scopesOf } from './job-scopes.js';
import { discardLabel } from './discard-label.js';
import { lacksForAll, lacksIn } from './lacks.js';
import { and, split } from '../messages/filter.js';
import { Reason, faultOf } from '../messages/badges.js';
import { RetryNow } from '../messages/retry.js';
import { importMessages } from './import.js';
import { deadLetterCode } from '../code/clients.js';
import { deadLetterCommand } from '../code/commands.js';

const groupings = ['reason', 'source', 'queue', 'exchange', 'key', 'cause', 'exception'];

export function render() {
  const v = oneVHost.value;
  const q = route.value.query;
  const filter = q.filter || '';
  const by = q.by || 'reason';
  const view = q.view || (filter ? 'list' : 'groups');
  const summary = useData((abort) => api.get(`x/letters/${path`${v}`}/summary`, {}, { signal: abort }), [v], {
    on: ['letters'],
  });
  const known = {
    queue: summary.data?.queues.map((x) => x.name) || [],
    reason: ['rejected', 'expired', 'maxlen', 'delivery_limit', 'republished'],
  };
  const waiting = summary.data?.waiting;
  const change = (f) => setQuery({ filter: f, view: view === 'groups' && !q.view ? 'groups' : q.view });
  return html`<div class="page-head"><h1>${t('letters.title')}</h1><${OneVHost} /><${Action} lacks=${rightsIn(v).any('write')} onClick=${() => importMessages(v).then((done) => done && summary.refresh())}>${t('import.open')}</${Action}><a class="button" href=${href('/lost', { vhost: v })}>${t('lost.title')}${summary.data ? ` · ${num(summary.data.lost.messages)}` : ''}</a></div>
    <${OtherVHosts} page="/letters" countOf=${(s) => s.dead_letters} />
    <${Cards} of=${summary} />
    ${view !== 'queues' && html`<${FilterBox} filter=${filter} change=${change} known=${known} error="" />`}
    <div class="tabs" role="tablist" aria-label=${t('letters.view')} onKeyDown=${(e) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (!by) return;
      const tabs = [...e.currentTarget.children];
      const to = tabs[(tabs.indexOf(e.target) + by + tabs.length) % tabs.length];
      to.focus();
      to.click();
    }}>
      ${['groups', 'list', 'queues'].map((name) => html`<button type="button" role="tab" aria-selected=${name === view} onClick=${() => setQuery({ view: name }, { push: true })}>${t(`letters.as_${name}`)}</button>`)}</div>
    ${view === 'groups' ? html`<${Groups} vhost=${v} by=${by} filter=${filter} waiting=${waiting} lost=${summary.data?.lost.messages || 0} />` : view === 'queues' ? html`<${Queues} vhost=${v} summary=${summary} />` : html`<${List} vhost=${v} filter=${filter} waiting=${waiting} />`}`;
}

// ageOf is how old something is now that was so many seconds old at an instant.
const ageOf = (seconds, at) => (seconds === null ? '–' : span(seconds * 1000 + Math.max(0, now.value - at)));

// Cards are what there is; of what should not be, only what there is.
function Cards({ of }) {
  const s = of.data;
  if (!s) return null;
  const died = Object.values(s.died).reduce((a, b) => a + b, 0);
  const bad = [
    [s.no_dlx, 'letters.card_dropped'],
    [s.lost.messages, 'letters.card_lost', href('/lost', { vhost: s.vhost })],
    [s.came_back, 'letters.card_came_back'],
  ].filter(([n]) => n > 0);
  return html`<div class="cards few">
    <div class="stat"><b>${num(s.dead_letters)}</b><span>${t('letters.card_now', { retrying: s.retrying })}</span></div>
    <div class="stat"><b>${ageOf(s.oldest_seconds, of.at)}</b><span>${t('letters.card_oldest')}</span></div>
    <div class="stat past"><b>${num(died)}</b><span>${t('letters.card_died')}</span></div>
    ${s.redriven > 0 && html`<div class="stat past"><b>${num(s.redriven)}</b><span>${t('letters.card_redriven')}</span></div>`}
    ${bad.map(([n, title, at]) => html`<${at ? 'a' : 'div'} class="stat bad" key=${title} href=${at}><b>${num(n)}</b><span>${t(title)}</span></${at ? 'a' : 'div'}>`)}
  </div><p class="hint">${t('letters.counted', { at: dateTime(s.counted_since) })}</p>`;
}

// nothing is shown where no message is; waiting messages of dead-letter queues may be others all the same.
const nothing = (filter, waiting) =>
  filter
    ? html`<${Empty} title=${t('letters.none_found')} text=${t('letters.none_found_text')} docs="filters.md" />`
    : waiting > 0
      ? html`<${Empty} title=${t('letters.empty')} text=${t('letters.empty_waiting', { n: waiting })} docs="dead-letters.md"><p><button type="button" onClick=${() => setQuery({ view: 'queues' }, { push: true })}>${t('letters.as_queues')}</button></p></${Empty}>`
      : html`<${Empty} title=${t('letters.empty')} text=${t('letters.empty_text')} code=${deadLetterCode} cli=${deadLetterCommand} docs="dead-letters.md"><p><a class="button" href=${href('/queues/new')}>${t('letters.create_pair')}</a></p></${Empty}>`;

function Groups({ vhost, by, filter, waiting, lost }) {
  const [header, setHeader] = useState(by.startsWith('header:') ? by.slice(7) : '');
  // Lost letters are counted only if somebody asks for them: what was discarded is dealt with.
  const asks = by === 'cause' || split(filter).some((x) => x.field === 'state' || x.field === 'cause');
  const withLost = asks || route.value.query.lost === 'true';
  const asked = withLost ? filter : and(filter, '-state:lost');
  const got = useData(
    (abort) => api.get(`x/letters/${path`${vhost}`}/groups`, { by, filter: asked, limit: 200 }, { signal: abort }),
    [vhost, by, asked],
    { on: ['letters'] },
  );
  useRefusal(got.error);
  const wrong = got.error?.status === 400 ? t('filter.invalid') : ''; // then no groups are those of the filter
  const groups = wrong ? undefined : got.data;
  const within = (term) => and(asked, term);
  const whole = Math.max(1, (groups?.total || 0) + (groups?.without || 0));
  useCompleted(got, `${vhost} ${by} ${asked}`);
  useFound(filter, got.at, t('letters.found', { n: (groups?.total || 0) + (groups?.without || 0) }));
  const rows = wrong ? { data: [] } : { ...got, data: groups?.groups };
  const redrive = async (group, action) => {
    await attempt(async () => beginRedrive(vhost, await scopesByFilter(vhost, within(group.filter)), action));
    got.refresh();
  };
  const lacksOf = (g) => lacksIn(vhost, by === 'queue' && g.value ? [g.value] : []);
  const columns = [
    {
      key: 'value',
      title: by.startsWith('header:') ? by.slice('header:'.length) : t(`letters.by_${by}`),
      always: true,
      value: (g) => g.value,
      render: (g) =>
        html`<a class="break" href=${href('/letters', { vhost, filter: within(g.filter), view: 'list' })}>${label(by, g.value)}</a>`,
    },
    {
      key: 'count',
      title: t(withLost ? 'letters.in_queues' : 'letters.count'),
      align: 'end',
      value: (g) => g.count - g.lost,
    },
    ...(withLost ? [{ key: 'lost', title: t('lost.title'), align: 'end', value: (g) => g.lost }] : []),
    {
      key: 'share',
      title: t('letters.share'),
      align: 'end',
      off: innerWidth < 1100,
      value: (g) => g.count / whole,
      render: (g) => percent(g.count / whole),
    },
    {
      key: 'spark',
      title: t('letters.over_time'),
      sort: false,
      render: (g) => html`<${Sparkline} values=${g.spark} label=${t('letters.over_time')} bars />`,
    },
    {
      key: 'first',
      title: t('letters.first'),
      value: (g) => Date.parse(g.first),
      render: (g) => html`<${Ago} at=${g.first} />`,
    },
    {
      key: 'last',
      title: t('letters.last'),
      value: (g) => Date.parse(g.last),
      render: (g) => html`<${Ago} at=${g.last} />`,
    },
    {
      key: 'note',
      title: t('letters.note'),
      value: (g) => g.note,
      render: (g) =>
        html`<button type="button" class="plain note" onClick=${() => open(Note, { vhost, by, group: g }).then(got.refresh)} title=${t('letters.note_of', { group: named(by, g.value) })}><span class="hidden">${t('frame.pair', { name: t('letters.note_of', { group: named(by, g.value) }), value: '' })}</span>${g.note ? html`<span class="break">${g.note}</span>` : html`<${Icon} name="note" />`}</button>`,
    },
    {
      key: 'do',
      title: t('letters.do'),
      sort: false,
      render: (g) => html`<span class="buttons nowrap">
      ${g.sample && html`<a class="button small" href=${page(g.sample)}>${t('letters.example')}</a>`}
      <${Action} className="small" lacks=${lacksOf(g).redrive} onClick=${() => redrive(g, 'redrive')} aria-label=${t('letters.redrive_group', { group: named(by, g.value) })} title=${t('redrive.short')}><${Icon} name="redrive" /></${Action}>
      <${Action} className="small plain" lacks=${lacksOf(g).discard} onClick=${() => redrive(g, 'discard')} aria-label=${t('letters.discard_group', { group: named(by, g.value) })} title=${discardLabel(0, g.count)}><${Icon} name="discard" /></${Action}></span>`,
    },
  ];
  const source = { ...useRows(rows, columns, { prefix: 'g', usual: { sort: 'count', reverse: true } }), wrong };
  return html`<div class="form group-by">
      <label class="buttons">${t('letters.group_by')} <select value=${by.startsWith('header:') ? 'header' : by} onChange=${(
        e,
      ) => {
        if (e.target.value === 'header') setQuery({ by: `header:${header || 'x-exception-message'}` });
        else setQuery({ by: e.target.value });
      }}>
        ${groupings.map((g) => html`<option value=${g} selected=${g === by}>${t(`letters.by_${g}`)}</option>`)}<option value="header" selected=${by.startsWith('header:')}>${t('letters.by_header')}</option></select></label>
      ${
        by.startsWith('header:') &&
        html`<form onSubmit=${(e) => {
          e.preventDefault();
          if (header) setQuery({ by: `header:${header}` });
        }}><${TextField} label=${t('letters.header_name')} value=${header} onInput=${setHeader} onChange=${() => header && setQuery({ by: `header:${header}` })}
        list=${['x-exception-message', 'x-exception-stacktrace', 'x-original-exchange', 'exception-fqcn', 'type', 'x-first-death-reason', 'NServiceBus.ExceptionInfo.Message', 'MT-Fault-Message']} /></form>`
      }
      ${!asks && (lost > 0 || withLost) && html`<${Check} label=${t('letters.with_lost', { n: lost })} value=${withLost} onInput=${(on) => setQuery({ lost: on ? 'true' : '' })} />`}
    </div>
    <${IndexState} of=${{ known: !!groups, index: groups?.index, partial: groups?.partial, scanned: groups?.scanned }} />
    ${got.error && (wrong || groups) && html`<p class="banner bad" role="alert">${faultOf(got.error)}</p>`}
    <${Table} id="groups" caption=${t('letters.as_groups')} source=${source} columns=${columns} keyOf=${(g) => g.filter || g.value} onOpen=${(g) => go('/letters', { vhost, filter: within(g.filter), view: 'list' })} filter=${false} empty=${wrong ? null : groups?.without > 0 ? html`<${Empty} title=${t('letters.none_with')} />` : nothing(filter, waiting)}
      actions=${() => html`<${Action} lacks=${wrong || lacksIn(vhost).redrive} onClick=${() => redrive({ filter: '' }, 'redrive')}><${Icon} name="redrive" /> ${filter ? t('redrive.found') : t('redrive.all')}</${Action}>`} />
    ${groups?.without > 0 && html`<p><a href=${href('/letters', { vhost, filter: within(groups.without_filter), view: 'list' })}>${t('letters.without', { n: groups.without })}</a></p>`}
    ${groups && groups.others > 0 && html`<p class="faint">${t('letters.others', { n: groups.others })}</p>`}`;
}

const label = (by, value) => (by === 'reason' ? html`<${Reason} reason=${value} />` : named(by, value));

function named(by, value) {
  if (by === 'reason') return word('reason', value);
  if (by === 'cause') return word('cause', value);
  if (value === '') return by === 'exchange' ? t('exchange.default') : t('letters.none');
  return value;
}

function Note({ close, vhost, by, group }) {
  const [text, setText] = useState(group.note);
  const save = async (e) => {
    e.preventDefault();
    if (
      await attempt(() => api.put(`x/notes/${path`${vhost}/${by}/${group.value}`}`, { text }), t('letters.note_kept'))
    )
      close();
  };
  return html`<${Dialog} title=${t('letters.note')} close=${close} actions=${html`<${Cancel} /><button type="submit" form="note" class="primary">${t('letters.keep_note')}</button>`}>
    <form id="note" onSubmit=${save}><p class="break"><b>${named(by, group.value)}</b></p><${TextArea} label=${t('letters.note')} hint=${t('letters.note_hint')} value=${text} onInput=${setText} rows="4" autofocus /></form></${Dialog}>`;
}

// countDiscards is how many messages the dialog offers to discard; undefined if they cannot be counted.
const countDiscards = (vhost, filter, abort) =>
  scopesByFilter(vhost, filter, abort).then(
    (scopes) => countOf(atOnce(scopes, false)),
    () => undefined,
  );

function List({ vhost, filter, waiting }) {
  const order = route.value.query.order || 'newest';
  const selection = useKept('selection', new Set());
  const messages = useMessages(`x/letters/${path`${vhost}`}`, { filter, order }, { hold: selection[0].size > 0 });
  const chosen = messages.items.filter((l) => selection[0].has(keyOf(l)));
  const done = (jobs) => {
    if (jobs) selection[1](new Set());
    messages.refresh();
  };
  const begin = (action, of = chosen) =>
    attempt(async () =>
      done(await beginRedrive(vhost, of.length ? scopesOf(of) : await scopesByFilter(vhost, filter), action)),
    );
  // Keys are about what is selected, else about the row that has the focus.
  const byKey = (action) => () => {
    const row = document.activeElement?.closest('tr[data-index]')?.getAttribute('data-index');
    const focused = row ? messages.items[Number(row)] : undefined;
    if (action === 'discard' && !chosen.length && !focused) return toast(t('letters.select_first'), 'note');
    return begin(action, chosen.length || !focused ? chosen : [focused]);
  };
  const goes = split(filter).some((x) => x.field === 'state' && !x.not && x.value === 'scheduled'); // by itself, when it is due
  const lacks = lacksForAll(vhost, chosen);
  const found = useData((abort) => countDiscards(vhost, filter, abort), [vhost, filter], {
    on: ['letters'],
    every: 0,
    keep: false,
    enabled: !goes && !messages.wrong && !lacks.discard,
  });
  useShortcuts(
    {
      r: !goes && ['keys.redrive', byKey('redrive'), messages.wrong || lacks.redrive],
      Delete: !goes && ['keys.discard', byKey('discard'), messages.wrong || lacks.discard],
    },
    [chosen.length, messages.items, filter, vhost, messages.wrong, lacks.redrive, lacks.discard],
  );
  if (messages.wrong)
    return html`<p class="banner bad" role="alert"><${Icon} name="warning" /> ${faultOf(messages.error)}</p>`;
  return html`<${MessagesTable} messages=${messages} selection=${selection} empty=${nothing(filter, waiting)} actions=${() => html`
      <label class="buttons small">${t('letters.order')} <select value=${order} onChange=${(e) => setQuery({ order: e.target.value === 'newest' ? '' : e.target.value })}><option value="newest" selected=${order === 'newest'}>${t('redrive.newest')}</option><option value="oldest" selected=${order === 'oldest'}>${t('redrive.oldest')}</option></select></label>
      ${
        !goes &&
        html`<${Action} className=${chosen.length ? 'primary' : ''} lacks=${lacks.redrive} onClick=${() => begin('redrive')}><${Icon} name="redrive" /> ${chosen.length ? t('redrive.n', { n: chosen.length }) : filter ? t('redrive.found') : t('redrive.all')}</${Action}>
      <${Action} lacks=${lacks.discard} onClick=${() => begin('discard')}><${Icon} name="discard" /> ${discardLabel(chosen.length, lacks.discard ? undefined : found.data)}</${Action}>`
      }
      <${RetryNow} messages=${chosen} done=${done} />
      <a class="button" download href=${address(`x/letters/${path`${vhost}`}/export`, { filter })} title=${t('letters.export_hint')}><${Icon} name="download" /> ${t('letters.export')}</a>`} />`;
}

function Queues({ vhost, summary }) {
  const columns = [
    {
      key: 'name',
      title: t('letters.place'),
      always: true,
      render: (x) => html`<a class="break" href=${href(to`/queues/${vhost}/${x.name}`)}>${x.name}</a>`,
    },
    {
      key: 'role',
      title: t('queue.role'),
      value: (x) => x.role,
      render: (x) => (x.role ? word('queue_role', x.role) : '–'),
    },
    { key: 'dead_letters', title: t('letters.dead'), align: 'end' },
    { key: 'messages', title: t('letters.count'), align: 'end' },
    { key: 'consumers', title: t('letters.consumers'), align: 'end' },
    { key: 'arrivals', title: t('letters.arrivals'), align: 'end' },
    {
      key: 'oldest_seconds',
      title: t('letters.oldest'),
      align: 'end',
      render: (x) => ageOf(x.oldest_seconds, summary.at),
    },
    {
      key: 'do',
      title: t('letters.do'),
      sort: false,
      render: (x) =>
        html`<${Action} className="small" lacks=${lacksIn(vhost, [x.name]).redrive} disabled=${x.messages === 0} onClick=${() => beginRedrive(vhost, [{ source: { queue: x.name }, filter: '', count: x.messages }])} aria-label=${t('letters.redrive_group', { group: x.name })}><${Icon} name="redrive" /> ${t('redrive.short')}</${Action}>`,
    },
  ];
  const source = useRows({ ...summary, data: summary.data?.queues }, columns, {
    prefix: 'd',
    usual: { sort: 'dead_letters', reverse: true },
  });
  return html`<${Table} id="dlqs" caption=${t('letters.as_queues')} source=${source} columns=${columns} onOpen=${(x) => go('/letters', { vhost, filter: and('', `queue:${JSON.stringify(x.name)}`), view: 'list' })} empty=${nothing('')} />`;
}
