// The command palette: pages, things by name, messages by message id, and what can be done from anywhere.
import { html, useState, useEffect, useRef, useId } from './html.js';
import { has, t } from './i18n.js';
import { folded, ranked, wordsOf } from './find.js';
import { api, path } from './api.js';
import { go, to } from './router.js';
import { Dialog } from './layers.js';
import { composing } from './focus.js';
import { oneVHost, vhost, vhosts } from './vhosts.js';
import { may } from './session.js';
import { lacksTag } from './rights.js';

const searchedMax = 20; // virtual hosts

// vhostWith is the virtual host in which a filter finds a dead letter: the chosen one, or the first of all.
async function vhostWith(filter) {
  if (vhost.value) return vhost.value;
  const first = oneVHost.value;
  for (const name of [first, ...vhosts.value.filter((v) => v !== first)].slice(0, searchedMax)) {
    const found = await api.get(`x/letters/${path`${name}`}`, { filter, limit: 1 }).catch(() => null);
    if (found?.items.length) return name;
  }
  return first;
}

const patience = 2000; // ms that Enter waits for names

// Palette offers pages, actions as {title or text, also, kind, needs, run}, and what lookUp(text, signal) finds besides names.
export function Palette({ close, pages, actions, lookUp: ofPages }) {
  const [text, setText] = useState('');
  const [found, setFound] = useState({ of: '', names: [] });
  const [at, setAt] = useState(0);
  const [eager, setEager] = useState(false); // Enter was pressed before the names were there
  const id = useId();
  const input = useRef();
  useEffect(() => {
    if (text.length < 2 && !/\d/.test(text)) {
      setFound({ of: text, names: [] });
      return undefined;
    }
    const abort = new AbortController();
    const set = (names) => !abort.signal.aborted && setFound({ of: text, names });
    const timer = setTimeout(
      () =>
        Promise.all([ofPages(text, abort.signal), lookUp(text, abort.signal)]).then(
          (all) => set(all.flat()),
          () => set([]),
        ),
      150,
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);
  const also = (key) => (has(`also.${key}`) ? t(`also.${key}`) : '');
  const sure = ranked(wordsOf(text), [
    ...pages
      .filter((p) => p.nav && may(p.needs))
      .map((p) => ({ kind: t('palette.page'), title: t(p.title), also: also(p.title), run: () => go(p.path) })),
    ...actions
      .map((a) => ({
        kind: t(a.kind || 'palette.action'),
        title: a.text || t(a.title),
        also: a.also || also(a.title),
        lacks: lacksTag(a.needs) || a.lacks?.() || '',
        run: a.run,
        last: a.last,
      }))
      .filter((a) => text || !a.lacks), // what cannot be done is shown, with the reason, to those who ask for it
  ]);
  const all = [
    ...sure,
    ...found.names.filter((x) => !x.last),
    ...(text
      ? [
          {
            kind: t('palette.search'),
            search: true,
            title: t('palette.letters_with', { text }),
            run: async () => go('/letters', { filter: text, vhost: await vhostWith(text) }),
          },
          {
            kind: t('palette.search'),
            title: t('palette.message_id', { text }),
            run: async () => {
              const filter = `id:${/\s/.test(text) ? JSON.stringify(text) : text}`;
              go('/letters', { filter, vhost: await vhostWith(filter) });
            },
          },
        ]
      : []),
    ...found.names.filter((x) => x.last),
  ];
  const chosen = Math.min(at, all.length - 1);
  useEffect(() => document.getElementById(`${id}-${chosen}`)?.scrollIntoView({ block: 'nearest' }), [chosen]);
  const run = (x) => {
    setEager(false);
    if (x?.lacks) return;
    close();
    x?.run();
  };
  // Enter takes a page or an action at once. Before it takes a search it waits for names, and takes the first one.
  const pending = found.of !== text;
  useEffect(() => {
    if (eager && !pending) run(all[0]);
    if (!eager || !pending) return undefined;
    const timer = setTimeout(() => run(all.find((x) => x.search)), patience);
    return () => clearTimeout(timer);
  }, [eager, pending]);
  const key = (e) => {
    if (composing(e)) return;
    if (e.key === 'ArrowDown') setAt(Math.min(all.length - 1, chosen + 1));
    else if (e.key === 'ArrowUp') setAt(Math.max(0, chosen - 1));
    else if (e.key === 'Enter' && pending && at === 0 && sure.length === 0) setEager(true);
    else if (e.key === 'Enter') run(all[chosen]);
    else return;
    e.preventDefault();
  };
  return html`<${Dialog} title=${t('palette.title')} close=${close} light className="palette">
    <input type="text" autofocus ref=${input} role="combobox" aria-expanded="true" aria-controls=${id} aria-activedescendant=${all.length ? `${id}-${chosen}` : undefined}
      aria-label=${t('palette.what')} placeholder=${t('palette.what')} value=${text} onInput=${(e) => {
        setText(e.target.value);
        setAt(0);
        setEager(false);
      }} onKeyDown=${key} autocomplete="off" spellcheck="false" />
    <ul role="listbox" aria-busy=${eager} id=${id} aria-label=${t('palette.title')}>
      ${all.map((x, i) => html`<li role="option" id=${`${id}-${i}`} aria-selected=${i === chosen} aria-disabled=${x.lacks ? 'true' : undefined} onClick=${() => run(x)} onMouseMove=${() => setAt(i)}><span>${x.title}</span><small>${x.lacks || x.kind}</small></li>`)}
    </ul>
  </${Dialog}>`;
}

async function lookUp(given, abort) {
  const text = folded(given);
  const one = async (list, kind, make) => {
    const got = await api
      .get(list, { page: 1, page_size: 6, name: text, columns: 'name,vhost', disable_stats: 'true' }, { signal: abort })
      .catch(() => ({ items: [] }));
    return got.items
      .filter((x) => x.name)
      .map((x) => ({
        kind: `${kind}${x.vhost && x.vhost !== '/' ? ` · ${x.vhost}` : ''}`,
        title: x.name,
        run: () => go(...[make(x)].flat()),
      }));
  };
  const lists = [
    one('queues', t('palette.queue'), (x) => to`/queues/${x.vhost}/${x.name}`),
    one('exchanges', t('palette.exchange'), (x) => to`/exchanges/${x.vhost}/${x.name}`),
    one('connections', t('palette.connection'), () => '/connections'),
    one('policies', t('palette.policy'), (x) => ['/policies/edit', { vhost: x.vhost, policy: x.name }]),
  ];
  if (may('administrator')) lists.push(one('users', t('palette.user'), (x) => to`/users/${x.name}`));
  const ofVHosts = vhosts.value
    .filter((name) => folded(name).toLowerCase().includes(text.toLowerCase()))
    .slice(0, 6)
    .map((name) => ({ kind: t('palette.vhost'), title: name, run: () => go(to`/vhosts/${name}`) }));
  return [...ofVHosts, ...(await Promise.all(lists)).flat()];
}
