// What a queue is for dead letters, and the mark that says so.
import { html } from '../../lib/html.js';
import { t, word } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { attempt } from '../../lib/layers.js';
import { may } from '../../lib/session.js';
import { markOf, nextMark } from './mark.js';

// setMark marks a queue as a dead-letter queue, as none, or with null no longer. It tells whether that worked.
export const setMark = (vhost, name, mark) =>
  attempt(
    () => api.put(path`x/options/${vhost}`, { 'dead-letter-queues': { [name]: mark } }),
    t(mark === null ? 'queue.mark_gone' : 'queue.mark_set'),
  );

export function QueueRole({ vhost, name, role, settings, changed }) {
  const mark = markOf(settings);
  const next = nextMark(role, mark);
  return html`<span class="buttons"><span>${role ? word('queue_role', role) : t('queue.role_none')}</span>
    ${mark !== null && html`<span class="tag">${t('queue.marked')}</span>`}
    ${may('policymaker') && html`<button type="button" class="small" title=${t('queue.mark_hint')} onClick=${async () => (await setMark(vhost, name, next.mark)) && changed()}>${t(next.text)}</button>`}</span>`;
}
