// Bring back what was exported: lines of JSON, into a queue or to where each was published first.
import { html, useEffect, useState } from '../../lib/html.js';
import { t } from '../../lib/i18n.js';
import { ask, api, path } from '../../lib/api.js';
import { readText } from '../../lib/save.js';
import { Cancel, Dialog, keep, open, refuse } from '../../lib/layers.js';
import { Check, FileField, Radios, TextField } from '../../lib/form.js';
import { Action } from '../../lib/action.js';

export const importMessages = (vhost) => open(Import, { vhost });

function Import({ close, vhost }) {
  const [file, setFile] = useState(null);
  const [where, setWhere] = useState('queue');
  const [queue, setQueue] = useState('');
  const [once, setOnce] = useState(true);
  const [queues, setQueues] = useState([]);
  const [busy, setBusy] = useState(false);
  const [result, setResult] = useState(null);
  useEffect(() => {
    api.get(`queues/${path`${vhost}`}`, { page: 1, page_size: 100, columns: 'name', disable_stats: 'true' }).then(
      (q) => setQueues(q.items.map((x) => x.name)),
      () => {},
    );
  }, [vhost]);
  const submit = async (e) => {
    e.preventDefault();
    setBusy(true);
    try {
      const body = await readText(file);
      if (body === null) throw new Error(t('definitions.not_utf8'));
      const query = where === 'queue' ? { queue, once: once || '' } : { origin: 'true' };
      setResult(
        (
          await ask('POST', `x/letters/${path`${vhost}`}/import`, {
            query,
            body,
            headers: { 'Content-Type': 'application/x-ndjson' },
          })
        ).data,
      );
      keep();
    } catch (x) {
      refuse(x);
    }
    setBusy(false);
  };
  return html`<${Dialog} title=${t('import.title')} close=${() => close(!!result)} light=${!!result} actions=${html`<${Cancel}>${result && t('frame.close')}</${Cancel}>
      ${!result && html`<${Action} type="submit" form="import" className="primary" lacks=${file ? '' : t('form_words.fill_in', { what: t('import.file') })} disabled=${busy}>${t('import.begin')}</${Action}>`}`}>
    ${
      result
        ? html`<p role="status">${t('import.done', { n: result.imported, read: result.read })} ${result.skipped > 0 && t('import.skipped', { n: result.skipped })} ${result.unrouted > 0 && t('import.unrouted', { n: result.unrouted })} ${result.refused > 0 && t('import.refused', { n: result.refused })}</p>
      ${result.failed > 0 && html`<p class="banner bad">${t('import.failed', { n: result.failed })} ${(result.wrong || []).map((w) => t('frame.pair', { name: w.line, value: w.reason ?? '' })).join(t('frame.clause'))}</p>`}`
        : html`<form id="import" onSubmit=${submit}><${FileField} label=${t('import.file')} hint=${t('import.file_hint')} accept=".ndjson,.jsonl,.json" required onFile=${setFile} />
        <${Radios} label=${t('redrive.where')} value=${where} onInput=${setWhere} options=${[
          ['queue', t('import.to_queue')],
          ['origin', t('redrive.to_origin')],
        ]} />
        ${where === 'queue' && html`<${TextField} label=${t('redrive.queue')} value=${queue} onInput=${setQueue} list=${queues} required /><${Check} label=${t('import.once')} hint=${t('import.once_hint')} value=${once} onInput=${setOnce} />`}</form>`
    }
  </${Dialog}>`;
}
