// Messages that wait for a retry, or for their delivery time, are made ready.
import { t } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { attempt } from '../../lib/layers.js';

// waitingIds are the ids of those of some messages that wait.
export const waitingIds = (messages) => messages.map((m) => m.waiting_id).filter(Boolean);

// retryNow makes messages of a queue ready: body is {ids} or {all: true}. It says how many, and returns whether that worked.
export const retryNow = (vhost, queue, body) =>
  attempt(
    () => api.post(`x/waiting/${path`${vhost}/${queue}`}/retry`, body),
    (a) => t('waiting.retried', { n: a.count }),
  );
