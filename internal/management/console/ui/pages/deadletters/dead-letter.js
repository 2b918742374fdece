// One message on a page of its own.
import { html } from '../../lib/html.js';
import { t } from '../../lib/i18n.js';
import { back, beside, from, href, to } from '../../lib/router.js';
import { oneVHost } from '../../lib/vhosts.js';
import { Icon } from '../../lib/icon.js';
import { useShortcuts } from '../../lib/keys.js';
import { Action } from '../../lib/action.js';
import { Viewer, titleOf, useNeighbours } from '../messages/viewer.js';
import { page } from '../messages/address.js';
import { RetryNow } from '../messages/retry.js';
import { beginRedrive } from './redrive.js';
import { scopesOf } from './job-scopes.js';
import { lacksFor } from './lacks.js';
import { edit } from './edit-message.js';

export function render({ params }) {
  const lost = params.queue === undefined;
  const id = { vhost: params.vhost, place: lost ? 'lost' : 'queue', queue: params.queue || '', id: params.id };
  const step = useNeighbours(id, (l) => beside(page(l)));
  const list = [lost ? '/lost' : '/letters', { vhost: params.vhost === oneVHost.value ? '' : params.vhost }];
  const up = from().startsWith(href(list[0]) + '?') ? from() : href(...list); // with the filter and the groups one came from
  useShortcuts({ Escape: ['keys.back', () => back(...list)] }, [params.id]);
  return html`<nav class="crumbs" aria-label=${t('frame.crumbs')}><a href=${up}>${lost ? t('lost.title') : t('letters.title')}</a>${
    lost
      ? null
      : html` <span aria-hidden="true">/</span> <a href=${href(to`/queues/${params.vhost}/${params.queue}`)}>${params.queue}</a>`
  }</nav>
    <${Viewer} id=${id}>${(l, refresh) => html`<${Head} message=${l} refresh=${refresh} step=${step} list=${list} />`}</${Viewer}>`;
}

function Head({ message: l, refresh, step, list }) {
  const gone = (done) => done && back(...list);
  const redrive = () => beginRedrive(l.vhost, scopesOf([l])).then(gone);
  const discard = () => beginRedrive(l.vhost, scopesOf([l]), 'discard').then(gone);
  const resend = () => edit(l).then((original) => (original === 'kept' ? refresh() : gone(original)));
  const lacks = lacksFor(l);
  useShortcuts(
    {
      r: !lacks.redrive && ['keys.redrive', redrive],
      e: !lacks.edit && ['keys.edit', resend],
      Delete: l.place !== 'lost' && !lacks.discard && ['keys.discard', discard],
    },
    [l.id, ...Object.values(lacks)],
  );
  return html`<div class="page-head"><h1>${titleOf(l, l.message_id || l.id)}</h1><div class="buttons">
    <button type="button" class="plain" onClick=${() => step('newest')} aria-label=${t('keys.previous_letter')} title=${t('keys.previous_letter')}><${Icon} name="left" /></button>
    <button type="button" class="plain" onClick=${() => step('oldest')} aria-label=${t('keys.next_letter')} title=${t('keys.next_letter')}><${Icon} name="right" /></button>
    <${RetryNow} messages=${[l]} one done=${refresh} />
    <${Action} className="primary" lacks=${lacks.redrive} onClick=${redrive}><${Icon} name="redrive" /> ${t('redrive.one')}</${Action}>
    <${Action} lacks=${lacks.edit} onClick=${resend} disabled=${l.payload === undefined}><${Icon} name="edit" /> ${t('resend.one')}</${Action}>
    ${l.place !== 'lost' && html`<${Action} lacks=${lacks.discard} onClick=${discard}><${Icon} name="discard" /> ${t('redrive.discard')}</${Action}>`}</div></div>`;
}
