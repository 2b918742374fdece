// One message on a page of its own: a dead letter, a lost letter, or one of a queue that never died.
import { html, useEffect, useState } from '../../lib/html.js';
import { t } from '../../lib/i18n.js';
import { back, go, href, route, to, up } from '../../lib/router.js';
import { oneVHost } from '../../lib/vhosts.js';
import { Icon } from '../../lib/icon.js';
import { When } from '../../lib/time.js';
import { Failure, Loading } from '../../lib/states.js';
import { useShortcuts } from '../../lib/keys.js';
import { Action } from '../../lib/action.js';
import { Viewer, stepNames, titleOf, useNeighbours } from '../messages/viewer.js';
import { findWaiting, neverDied, page } from '../messages/address.js';
import { RetryNow } from '../messages/retry.js';
import { act, asWaiting, lacks as lacksToMove, lacksToCancel, move } from '../schedule/actions.js';
import { beginRedrive } from './redrive.js';
import { scopesOf } from './job-scopes.js';
import { lacksFor } from './lacks.js';
import { edit } from './edit-message.js';

const ofQueue = () => route.value.path.startsWith('/queues/');

export function render({ params }) {
  return params.id.includes('-') ? html`<${Waiting} ...${params} />` : html`<${Message} params=${params} />`;
}

// Waiting finds a message by its ID in the list of those that wait, and shows its page.
function Waiting({ vhost, queue, id }) {
  const [error, setError] = useState(null);
  useEffect(() => {
    const abort = new AbortController();
    findWaiting(vhost, queue, id, abort.signal).then(
      (l) => !abort.signal.aborted && go(page(l), undefined, { replace: true }),
      (e) => !abort.signal.aborted && setError(e),
    );
    return () => abort.abort();
  }, [vhost, queue, id]);
  return html`<h1>${t('message.title', { id })}</h1>${error ? html`<${Failure} error=${error} />` : html`<${Loading} />`}`;
}

function Message({ params }) {
  const lost = params.queue === undefined;
  const alive = ofQueue();
  const id = { vhost: params.vhost, place: lost ? 'lost' : 'queue', queue: params.queue || '', id: params.id };
  const step = useNeighbours(id, alive);
  const list = alive
    ? [to`/queues/${params.vhost}/${params.queue}`, { tab: 'messages' }]
    : [lost ? '/lost' : '/letters', { vhost: params.vhost === oneVHost.value ? '' : params.vhost }];
  const top = alive ? ['/queues', { vhost: params.vhost }] : list;
  useShortcuts({ Escape: ['keys.back', () => back(...list)] }, [params.id]);
  return html`<nav class="crumbs" aria-label=${t('frame.crumbs')}><a href=${alive ? href(...top) : up(...list)}>${lost ? t('lost.title') : alive ? t('queues.title') : t('letters.title')}</a>${
    lost
      ? null
      : html` <span aria-hidden="true">›</span> <a href=${alive ? up(...list) : up(to`/queues/${params.vhost}/${params.queue}`)}>${params.queue}</a>`
  }</nav>
    <${Viewer} id=${alive ? { ...id, deaths: [] } : id}>${(l, refresh) => html`<${Head} message=${l} refresh=${refresh} step=${step} list=${list} />`}</${Viewer}>`;
}

function Head({ message: l, refresh, step, list }) {
  const alive = neverDied(l);
  useEffect(() => {
    if (alive !== ofQueue()) go(page(l), undefined, { replace: true }); // another kind of page is meant
  }, [alive]);
  const gone = (done) => done && back(...list);
  const redrive = () => beginRedrive(l.vhost, scopesOf([l]), 'redrive', alive).then(gone);
  const discard = () => beginRedrive(l.vhost, scopesOf([l]), 'discard', alive).then(gone);
  const resend = () => edit(l).then((original) => (original === 'kept' ? refresh() : gone(original)));
  const cancels = l.waiting_id && asWaiting(l).why !== 'retry';
  const waits = l.state === 'waiting' ? t(cancels ? 'message.waits_delivery' : 'message.waits') : '';
  const rights = lacksFor(l);
  const lacks = Object.fromEntries(Object.entries(rights).map(([k, v]) => [k, v || waits]));
  useShortcuts(
    {
      r: [alive ? 'message.move' : 'keys.redrive', redrive, lacks.redrive],
      e: ['keys.edit', resend, lacks.edit],
      Delete: l.place !== 'lost' && ['keys.discard', discard, lacks.discard],
    },
    [l.id, ...Object.values(lacks)],
  );
  return html`<div class="page-head"><h1>${titleOf(l, l.message_id || l.id)}</h1><div class="buttons">
    ${[-1, 1].map((by) => html`<button type="button" class="plain" key=${by} onClick=${() => step(by)} aria-label=${t(stepNames(alive)[by])} title=${t(stepNames(alive)[by])}><${Icon} name=${by < 0 ? 'left' : 'right'} /></button>`)}
    <${RetryNow} messages=${[l]} one done=${refresh} />
    ${l.waiting_id && html`<${Later} of=${[asWaiting(l)]} moved=${refresh} gone=${gone} />`}
    <${Action} className=${alive ? '' : 'primary'} lacks=${lacks.redrive} onClick=${redrive}><${Icon} name="redrive" /> ${t(alive ? 'message.move' : 'redrive.one')}</${Action}>
    <${Action} lacks=${lacks.edit} onClick=${resend} disabled=${l.payload === undefined}><${Icon} name="edit" /> ${t('resend.one')}</${Action}>
    ${l.place !== 'lost' && html`<${Action} lacks=${lacks.discard} onClick=${discard}><${Icon} name="discard" /> ${t('redrive.discard')}</${Action}>`}</div></div>
    ${waits && html`<p class="banner" role="status"><${Icon} name="expired" /> ${waits} ${l.due && html`${t('frame.pair', { name: t('waiting.due'), value: '' })}<${When} at=${l.due} />`}</p>`}`;
}

// Later are the buttons that change when a message is delivered that waits in its queue.
function Later({ of, moved, gone }) {
  return html`<${Action} lacks=${lacksToMove(of)} onClick=${() => move(of).then((done) => done && moved())}><${Icon} name="schedule" /> ${t('schedule.move')}</${Action}>
    <${Action} className="danger" lacks=${lacksToCancel(of)} onClick=${() => act('cancel', of).then(gone)}>${t('schedule.cancel')}</${Action}>`;
}
