// The frame around every page: navigation, virtual host, live or paused, alarms, language, theme, user; shortcuts that hold
// everywhere; and the page that the address asks for.
import { html, signal, useEffect, useLayoutEffect, useRef, useState, useErrorBoundary } from './html.js';
import { t, lang, languages, chooseLanguage, short, span } from './i18n.js';
import { route, find, href, go, mayLeave } from './router.js';
import { user, logOut, may } from './session.js';
import { theme, themes, nextTheme, density, shortcutsOn } from './theme.js';
import { paused, stream, running, heard, now, returns, topic, useTopic, deadSoFar, lostNow } from './live.js';
import { Refusal, reachable } from './api.js';
import { NoVHost, chosen, vhost, vhosts, chooseVHost, loadVHosts, noVHost } from './vhosts.js';
import { Icon } from './icon.js';
import { announce } from './focus.js';
import { Layers, open, Dialog, attempt, dropToasts } from './layers.js';
import { Failure, Loading, Outdated } from './states.js';
import { renewed } from './renewal.js';
import { icon } from './place.js';
import { shortcuts, useShortcuts } from './keys.js';
import { Palette } from './palette.js';
import { Check } from './form.js';
import { copy } from './code.js';
import { pref } from './store.js';

const folded = pref('folded', false);
// fresh is what is counted of pages: how much there is, how much of it was seen, and the words for the rest.
const fresh = {
  '/letters': { count: deadSoFar, seen: signal(null), words: 'letters.fresh' },
  '/lost': { count: lostNow, seen: signal(null), words: 'lost.fresh' },
};

// actions and lookUp are what the palette offers besides pages and names; loggedIn says that the login page was there before.
export function Frame({ pages, actions, lookUp, loggedIn }) {
  const found = find(pages, route.value.path);
  // about is what the page shows: the name in its path, and its kind.
  const { vhost: _, ...names } = found?.params || {};
  const about = found ? [...Object.values(names), titleOf(found.page)] : [];
  const [shownNav, showNav] = useState(false);
  useTopic('alarms', 'jobs', 'letters');
  const entry = useRef(loggedIn ? route.value.path : ''); // where the login page was
  const turnBack = (forbidden) => forbidden && route.value.path === entry.current && go('/', {}, { replace: true });
  useLayoutEffect(() => {
    turnBack(found?.page.needs && !may(found.page.needs));
  }, []);
  useEffect(() => {
    loadVHosts().then(
      () => {
        turnBack(foreign(found));
        entry.current = '';
      },
      () => {},
    );
  }, [user.value?.name]);
  useEffect(() => showNav(false), [route.value.path]);
  const nav = useRef();
  useEffect(() => {
    if (shownNav) (nav.current.querySelector('[aria-current]') || nav.current.querySelector('a')).focus();
  }, [shownNav]);
  const first = useRef(!loggedIn);
  useEffect(() => {
    // The keyboard goes on from where the new page begins, unless the page gave the focus to a field.
    const main = document.getElementById('main');
    if (!first.current && !main.querySelector(':scope :focus')) main.focus({ preventScroll: true });
    first.current = false;
  }, [route.value.path]);
  useEffect(() => {
    document.title = [...about, 'Bartleby'].join(' – ');
  }, [found?.page, lang(), about.join()]);
  const palette = () => open(Palette, { pages, lookUp, actions: [...actions, ...everywhere()] });
  const jumps = Object.fromEntries(
    pages.filter((p) => p.nav?.key && may(p.needs)).map((p) => [`g ${p.nav.key}`, [p.title, () => jumpTo(p.path)]]),
  );
  useShortcuts(
    {
      'Ctrl+k': ['keys.palette', palette],
      '?': ['keys.help', () => open(Help)],
      p: ['keys.pause', togglePause],
      t: ['keys.theme', changeTheme],
      c: [
        'keys.copy_link',
        () => {
          copy(location.href);
        },
      ],
      ...jumps,
    },
    [pages, user.value?.name],
    'keys.everywhere',
  );
  return html`<a class="skip" href="#main" onClick=${(e) => {
    e.preventDefault();
    document.getElementById('main')?.focus();
  }}>${t('frame.skip')}</a>
    <div class=${`frame ${folded.value ? 'folded' : ''}`}>
      <${Top} palette=${palette} shownNav=${shownNav} showNav=${showNav} />
      <nav id="nav" class=${`rail ${shownNav ? 'shown' : ''}`} aria-label=${t('frame.navigation')} ref=${nav}
        onKeyDown=${(e) => {
          if (!shownNav || e.key !== 'Escape') return;
          e.preventDefault();
          showNav(false);
          document.getElementById('burger').focus();
        }}
        onfocusout=${(e) => {
          if (shownNav && e.relatedTarget && !e.target.closest('nav').contains(e.relatedTarget)) showNav(false);
        }}>
        <${Rail} pages=${pages} current=${found?.page} />
      </nav>
      <main id="main" tabindex="-1" aria-label=${about.join(' – ') || undefined}>
        <${Stale} />
        ${found ? html`<${Page} key=${found.page.path + JSON.stringify(found.params)} page=${found.page} params=${found.params} />` : html`<h1>${t('frame.no_page')}</h1><p>${t('frame.no_page_text')}</p>`}
      </main>
    </div>
    <${Layers} />`;
}

// foreign tells whether an address is of a virtual host that the user does not see.
function foreign(found) {
  const { vhost: one, name } = found?.params || {};
  const asked = one ?? (found?.page.under === '/vhosts' ? name : route.value.query.vhost);
  return !!asked && !vhosts.peek().includes(asked);
}

function Rail({ pages, current }) {
  const groups = ['see', 'flow', 'rules', 'admin'];
  const inNav = (g) =>
    pages.filter((p) => p.nav && p.nav.group === g && may(p.needs)).sort((a, b) => a.nav.order - b.nav.order);
  const section = current?.nav ? current.path : current?.under;
  return html`<div class="rail-groups">${groups.map(
    (g) =>
      inNav(g).length > 0 &&
      html`<div class="rail-group" key=${g}>
      <h2 id=${`nav-${g}`}>${t(`nav.${g}`)}</h2>
      <ul aria-labelledby=${`nav-${g}`}>${inNav(g).map(
        (p) => html`<li key=${p.path}>
        <a href=${href(p.path, { vhost: chosen.value })} aria-current=${p.path === section ? 'page' : undefined} title=${folded.value ? t(p.title) : undefined}>
          <${Icon} name=${p.nav.icon} /><span>${t(p.title)}</span>
          <${Badge} path=${p.path} looking=${p.path === section} /></a></li>`,
      )}</ul>
    </div>`,
  )}</div>
    <button type="button" class="plain fold" aria-pressed=${folded.value} onClick=${() => {
      folded.value = !folded.value;
    }}><${Icon} name=${folded.value ? 'right' : 'left'} /><span>${t('frame.fold')}</span></button>`;
}

// everywhere is what the frame itself can do: {title, also, run}; titles are keys, or texts; also are words that find it as well.
function everywhere() {
  return [
    ...Object.entries(languages)
      .filter(([l]) => l !== lang())
      .map(([l, name]) => ({
        text: name,
        also: languageWords[l],
        kind: 'palette.language',
        run: () => attempt(() => chooseLanguage(l)),
      })),
    ...themes
      .filter((name) => name !== theme.value)
      .map((name) => ({
        text: t('frame.theme', { name: t(`theme.${name}`) }),
        also: t('also.frame.theme'),
        run: () => {
          theme.value = name;
        },
      })),
    { title: 'keys.pause', run: togglePause, last: true }, // after jobs, which are paused more often
    { title: 'keys.copy_link', run: () => copy(location.href) },
    { title: 'keys.help', run: () => open(Help) },
    { title: 'frame.settings', run: () => open(Settings) },
    { title: 'frame.log_out', run: leave },
  ];
}
const languageWords = {
  en: 'english language switch 英文 英语 切换语言',
  'zh-CN': 'chinese language switch zhongwen 中文 汉语 切换语言',
};

// Badge shows beside a page's name what is new there: jobs that have stopped, or else run; what the page shows that was
// not there when it was seen.
function Badge({ path, looking }) {
  if (path === '/jobs') {
    const jobs = Object.values(topic('jobs').value.data || {}).flat();
    const stopped = jobs.filter((j) => j.state === 'stopped').length;
    if (stopped > 0)
      return html`<b class="badge">${stopped}<span class="hidden"> ${t('jobs.have_stopped', { n: stopped })}</span></b>`;
    const n = jobs.filter((j) => j.state === 'running' || j.state === 'watching').length;
    return n > 0 ? html`<b class="badge calm">${n}<span class="hidden"> ${t('jobs.going_on', { n })}</span></b>` : null;
  }
  const { count, seen, words } = fresh[path] || {};
  const now = count?.() ?? null;
  if (now === null) return null;
  if (looking || seen.peek() === null || seen.peek() > now) seen.value = now;
  const n = now - seen.peek();
  return n > 0 ? html`<b class="badge">${short(n)}<span class="hidden"> ${t(words, { n })}</span></b>` : null;
}

function togglePause() {
  paused.value = !paused.value;
  announce(t(paused.value ? 'frame.live_off' : 'frame.live_on'));
}

function changeTheme() {
  nextTheme();
  announce(t('frame.theme', { name: t(`theme.${theme.value}`) }));
}

const leave = async () =>
  (await mayLeave()) &&
  attempt(async () => {
    await logOut();
    dropToasts();
  });

function Top({ palette, shownNav, showNav }) {
  return html`<header class="top">
    <button type="button" class="plain burger" id="burger" aria-expanded=${shownNav} aria-controls="nav" aria-label=${t('frame.navigation')} onClick=${() => showNav(!shownNav)}><${Icon} name="menu" /></button>
    <a class="brand" href=${href('/')}><img src=${icon} alt="" width="26" height="26" /><span>Bartleby</span></a>
    <label class="vhost"><span class="hidden">${t('frame.vhost')}</span>
      <select value=${vhost.value} onChange=${(e) => {
        const name = e.target.value;
        e.target.value = vhost.value; // until it is chosen: a draft may be in its way
        chooseVHost(name);
      }}>
        <option value="" selected=${vhost.value === ''}>${t('frame.all_vhosts')}</option>
        ${vhosts.value.map((v) => html`<option value=${v} selected=${v === vhost.value}>${v}</option>`)}
      </select></label>
    <button type="button" class="find" onClick=${palette}><${Icon} name="search" /><span>${t('frame.find')}</span><kbd>Ctrl K</kbd></button>
    <span class="grow"></span>
    <${Alarms} />
    <button type="button" class=${`live ${!reachable.value ? 'gone' : running.value ? 'on' : ''}`} aria-pressed=${!paused.value} onClick=${togglePause} title=${t('keys.pause')}>
      <i aria-hidden="true"></i><span>${!reachable.value ? t('frame.no_connection') : paused.value ? t('frame.paused') : stream.value === 'failed' ? t('frame.polling') : t('frame.live')}</span></button>
    <details class="menu end"><summary title=${t('frame.language')}><span class="hidden">${t('frame.language')} </span>${lang() === 'zh-CN' ? '中' : 'EN'}</summary>
      <div>${Object.entries(languages).map(([l, name]) => html`<button type="button" lang=${l} aria-pressed=${l === lang()} onClick=${(e) => speak(e, l)}>${name}</button>`)}</div></details>
    <button type="button" class="plain" aria-label=${t('frame.theme', { name: t(`theme.${theme.value}`) })} title=${t('frame.theme', { name: t(`theme.${theme.value}`) })} onClick=${nextTheme}><${Icon} name="sun" /></button>
    <details class="menu end"><summary aria-label=${t('frame.user', { name: user.value.name })}><${Icon} name="user" /></summary>
      <div><p><b>${user.value.name}</b><br /><small>${user.value.tags.join(', ') || '–'}</small></p>
        <button type="button" onClick=${() => open(Settings)}>${t('frame.settings')}</button>
        <button type="button" onClick=${() => open(Help)}>${t('keys.help')}</button>
        <button type="button" onClick=${leave}>${t('frame.log_out')}</button></div></details>
  </header>`;
}

// speak changes the language; the keyboard stays at the button that chooses it.
function speak(e, language) {
  const menu = e.target.closest('details');
  menu.open = false;
  menu.querySelector('summary').focus();
  attempt(() => chooseLanguage(language));
}

function Alarms() {
  const raised = topic('alarms').value.data || [];
  if (!raised.length) return null;
  return html`<a class="alarm" href=${href('/node')} role="status"><${Icon} name="warning" /> ${t('frame.alarms', { n: raised.length, which: raised.map((a) => a.resource).join(t('frame.comma')) })}</a>`;
}

// Stale says so while nothing is heard of the broker, and announces once that it is gone, and that it is back. How old the data is
// changes all the time: it is shown, but not announced.
function Stale() {
  const there = reachable.value;
  const before = useRef(there);
  useEffect(() => {
    if (there && !before.current) announce(t('frame.reached'));
    before.current = there;
  }, [there]);
  if (there) return null;
  const ms = Math.max(now.value, Date.now()) - heard.value; // now is behind by up to its step
  return html`<p class="banner bad stale"><${Icon} name="warning" /> <span role="alert">${t('frame.unreachable')}</span> <span>${t('frame.data_age', { since: span(Math.max(1, Math.floor(ms / 1000)) * 1000) })}</span></p>`;
}

// titleOf is the title of a page that is shown: called(query) is a text of its own, [key, params].
const titleOf = (page) => t(...(page.called?.(route.value.query) || [page.title]));

const modules = new Map();

// Page loads the module of a page, once, and shows it.
function Page({ page, params }) {
  const title = titleOf(page);
  const [loaded, set] = useState(modules.get(page));
  const [failed, fail] = useState(null);
  const [broken, mend] = useErrorBoundary((error) => console.error(error));
  useEffect(() => {
    if (loaded || failed) return;
    page.load().then(
      (m) => {
        modules.set(page, m);
        set(m);
      },
      async (error) => (await renewed()) || fail(error),
    );
  }, [failed]);
  useEffect(() => {
    if (failed?.status === 0) fail(null);
  }, [returns.value]);
  if (page.needs && !may(page.needs))
    return html`<h1>${title}</h1><section class="empty"><h2>${t('frame.no_right')}</h2><p>${t('frame.needs_tag', { tag: page.needs })}</p></section>`;
  if (noVHost.value && !page.everywhere) return html`<h1>${title}</h1><${NoVHost} />`;
  if (failed instanceof Refusal) return html`<h1>${title}</h1><${Failure} error=${failed} retry=${() => fail(null)} />`;
  if (failed) return html`<h1>${title}</h1><${Outdated} />`;
  if (broken) return html`<h1>${title}</h1><${Failure} error=${broken} retry=${mend} />`;
  if (!loaded) return html`<h1>${title}</h1><${Loading} />`;
  const Render = loaded.render;
  return html`<${Render} params=${params} query=${route.value.query} title=${title} />`;
}

// jumpTo shows a page. The keyboard goes on from where it begins, also if it is shown already.
function jumpTo(path) {
  const shown = route.value.path === path;
  go(path);
  if (shown) document.getElementById('main').focus({ preventScroll: true });
}

// Help lists the shortcuts that hold now: first those of the page.
function Help({ close }) {
  const unique = [...new Map(shortcuts.value.map((b) => [b.keys, b])).values()];
  const jump = (b) => b.keys.startsWith('g ');
  const parts = {
    'keys.here': unique.filter((b) => b.where === 'keys.here'),
    'keys.everywhere': unique.filter((b) => b.where !== 'keys.here' && !jump(b)),
    'keys.jumps': unique.filter(jump),
  };
  return html`<${Dialog} title=${t('keys.help')} close=${close} wide>
    <div class="keys" tabindex="0" autofocus role="group" aria-label=${t('keys.help')}>${Object.entries(parts).map(
      ([title, of]) =>
        of.length > 0 &&
        html`<table key=${title}><caption>${t(title)}</caption><thead class="hidden"><tr><th scope="col">${t('keys.key')}</th><th scope="col">${t('keys.does')}</th></tr></thead>
      <tbody>${of.map((b) => html`<tr><td>${b.keys.split(' ').map((k) => html`<kbd>${k.replace('Ctrl+k', 'Ctrl K')}</kbd> `)}</td><td>${t(b.title)}</td></tr>`)}</tbody></table>`,
    )}</div>
    <${Check} label=${t('keys.on')} value=${shortcutsOn.value} onInput=${(v) => {
      shortcutsOn.value = v;
    }} />
  </${Dialog}>`;
}

function Settings({ close }) {
  return html`<${Dialog} title=${t('frame.settings')} close=${close}>
    <fieldset class="radios"><legend>${t('frame.theme_title')}</legend>${themes.map(
      (name) =>
        html`<div class="check"><input type="radio" name="theme" id=${`theme-${name}`} checked=${theme.value === name} onChange=${() => {
          theme.value = name;
        }} /><label for=${`theme-${name}`}>${t(`theme.${name}`)}</label></div>`,
    )}</fieldset>
    <${Check} label=${t('frame.dense')} value=${density.value === 'dense'} onInput=${(v) => {
      density.value = v ? 'dense' : 'normal';
    }} />
    <${Check} label=${t('keys.on')} value=${shortcutsOn.value} onInput=${(v) => {
      shortcutsOn.value = v;
    }} />
  </${Dialog}>`;
}
