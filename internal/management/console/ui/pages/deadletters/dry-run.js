// What dry runs of jobs say: how many messages would go where, how many would stay and why, and of some each by itself.
import { html } from '../../lib/html.js';
import { t, num, word } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { href } from '../../lib/router.js';
import { Icon } from '../../lib/icon.js';
import { page } from '../messages/address.js';
import { intoSame, optionsFor } from './job-preview.js';

// placeOf is where the messages of a scope are.
export const placeOf = (s) => (s.source.lost ? t('letters.lost_store') : s.source.queue);

// Trials: options are those of the jobs; hurry makes them need no consumers at the queues that they redrive to. dropExpiration makes them
// remove expirations, null if they do.
export function Trials({ vhost, scopes, trials, action, alive, options, hurry, dropExpiration }) {
  return trials.map(
    (x, i) =>
      html`<${Trial} key=${i} ...${{ vhost, action, alive, trial: x, scope: scopes[i], served: optionsFor(options, x).stop_no_consumer, hurry, dropExpiration }} />`,
  );
}

const checkedMax = 20; // queues whose consumers are counted

// NoConsumers warns of queues at which a job that needs consumers would stop, and offers the way that needs none.
function NoConsumers({ vhost, queues, hurry }) {
  const consumers = (name, abort) =>
    api
      .get(path`queues/${vhost}/${name}`, { columns: 'name,consumers', disable_stats: true }, { signal: abort })
      .catch(() => null);
  const got = useData(
    (abort) => Promise.all(queues.slice(0, checkedMax).map((name) => consumers(name, abort))),
    [vhost, queues],
    { every: 5000 },
  );
  const without = (got.data || []).filter((q) => q?.consumers === 0);
  if (without.length === 0) return null;
  return html`${without.map((q) => html`<p class="banner warn" key=${q.name}><${Icon} name="warning" /> ${t('redrive.no_consumers', { queue: q.name })}</p>`)}
    <p class="buttons"><button type="button" onClick=${hurry}>${t('redrive.choose_fast')}</button></p>`;
}

function Trial({ vhost, scope, trial: x, action, alive, served, hurry, dropExpiration }) {
  const discard = action === 'discard';
  const deletes = discard && !!scope.source.lost;
  const same = intoSame(x);
  const stay = Object.entries(x.refused);
  const troubles = stay.filter(([why]) => why !== 'same_queue'); // of which same tells
  const goes = Object.entries(x.queues).sort(([, a], [, b]) => b - a);
  const text = !x.partial
    ? deletes
      ? 'redrive.would_delete'
      : discard
        ? 'redrive.would_discard'
        : 'redrive.would_move'
    : x.found !== null
      ? 'redrive.found_tried'
      : deletes
        ? 'redrive.least_delete'
        : discard
          ? 'redrive.least_discard'
          : 'redrive.least_move';
  return html`<section class="card"><h3>${t('redrive.trial', { place: placeOf(scope) })}</h3>
    <p>${t(alive ? (x.partial ? 'message.would_least' : 'message.would') : text, { n: x.matches, looked: x.looked, found: x.found ?? 0 })} ${x.index && html`<span class="tag outline">${t('redrive.by_index')}</span>`}</p>
    ${discard && !x.fits && html`<p class="banner warn"><${Icon} name="warning" /> ${t('redrive.does_not_fit')}</p>`}
    ${Object.entries(x.pushed_out ?? {}).map(([queue, n]) => html`<p class="banner warn" key=${`out ${queue}`}><${Icon} name="warning" /> ${t('redrive.pushes_out', { queue, n })}</p>`)}
    ${Object.entries(x.never_died ?? {}).map(([queue, n]) => html`<p class="banner warn" key=${`copy ${queue}`}><${Icon} name="warning" /> ${t('redrive.never_died', { queue, n })}</p>`)}
    ${served && goes.length > 0 && html`<${NoConsumers} vhost=${vhost} queues=${goes.map(([q]) => q)} hurry=${hurry} />`}
    ${dropExpiration && x.expiring.length > 0 && html`<p class="banner warn"><${Icon} name="warning" /> ${t('redrive.expires_again', { queues: x.expiring.join(t('frame.comma')) })}</p><p class="buttons"><button type="button" onClick=${dropExpiration}>${t('redrive.drop_expiration')}</button></p>`}
    ${same > 0 && html`<p class="banner warn"><${Icon} name="warning" /> ${t('redrive.into_same', { n: same, queue: scope.source.queue })}</p>`}
    ${troubles.length > 0 && html`<p class="banner bad" role="alert"><${Icon} name="warning" /> ${t('redrive.would_refuse', { which: troubles.map(([why, n]) => t('redrive.refused_n', { why: word('refused', why), n })).join(t('frame.comma')) })}</p>`}
    ${x.matches === 0 && !x.partial && html`<p class="banner">${t('redrive.nothing')}</p>`}
    ${
      !discard &&
      goes.length + stay.length > 0 &&
      html`<table><caption class="hidden">${t('redrive.routes')}</caption><thead><tr><th scope="col">${t('redrive.into')}</th><th scope="col" class="end">${t('redrive.letters')}</th></tr></thead>
      <tbody>${goes.map(([q, n]) => html`<tr key=${q}><td class="break">${q}</td><td class="end">${num(n)}</td></tr>`)}
        ${stay.map(([why, n]) => html`<tr key=${`stay ${why}`}><td><span class="tag bad">${t('redrive.stays')}</span> ${word('refused', why)}</td><td class="end">${num(n)}</td></tr>`)}</tbody></table>`
    }
    ${x.sample.length > 0 && html`<details><summary>${t(alive ? 'message.samples' : 'redrive.samples', { n: x.sample.length })}</summary><${Samples} ...${{ vhost, scope, discard, alive, all: x.sample }} /></details>`}</section>`;
}

function Samples({ vhost, scope, all, discard, alive }) {
  const lost = !!scope.source.lost;
  const at = (id) =>
    href(
      page({
        vhost,
        place: lost ? 'lost' : 'queue',
        queue: scope.source.queue || '',
        id,
        ...(alive ? { deaths: [] } : {}),
      }),
    );
  return html`<table><caption class="hidden">${t(alive ? 'message.samples' : 'redrive.samples', { n: all.length })}</caption><thead><tr><th scope="col">${t(alive ? 'message.one' : 'redrive.letter')}</th><th scope="col">${t('redrive.into')}</th></tr></thead>
    <tbody>${all.map(
      (
        x,
      ) => html`<tr key=${x.id}><td><a href=${at(x.id)} target="_blank" rel="noopener">${t(alive ? 'message.title' : 'viewer.title', { id: x.id })}</a></td>
      <td class="break">${x.refused ? html`<span class="tag bad">${t('redrive.stays')}</span> ${word('refused', x.refused)}` : discard ? t(lost ? 'jobs.to_nowhere' : 'letters.lost_store') : x.queues.length > 0 ? x.queues.join(', ') : t('redrive.sample_delayed')}</td></tr>`,
    )}</tbody></table>`;
}
