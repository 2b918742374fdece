// The editor of a policy: a form and its JSON side by side, what it would change, and the same as commands and files of other tools.
import { html, useEffect, useRef, useState } from '../../lib/html.js';
import { t } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { go, href, letGo, up, visits } from '../../lib/router.js';
import { folded } from '../../lib/find.js';
import { attempt, toast, useDraft } from '../../lib/layers.js';
import { NumberField, Select, TextArea, TextField } from '../../lib/form.js';
import { Codes } from '../../lib/code.js';
import { first, lacksTag, rightsIn } from '../../lib/rights.js';
import { Icon } from '../../lib/icon.js';
import { Action } from '../../lib/action.js';
import { Failure, Loading } from '../../lib/states.js';
import { listWith, oneVHost, vhosts } from '../../lib/vhosts.js';
import { SettingField } from './setting-parts.js';
import { RetryFields, isRetry } from './retry-fields.js';
import { fieldsOf } from '../../lib/known.js';
import { groupNames, groupOf } from './settings.js';
import { policyCodes } from '../code/policy.js';
import { here } from '../../lib/here.js';
import { newExchange } from './exchanges.js';
import { parseObject } from './parts.js';
import { deadLetterExchange } from './policy-presets.js';
import { lookAround } from './rights.js';
import { patternTrouble, refusal } from './import-refusals.js';
import { useTaken } from './taken.js';
import { Trial, bodyOf, mayDrop, useTrial } from './policy-trial.js';
import { removePolicy } from './policies.js';

const some = (v) => (v ?? null) !== null;

const dlx = 'dead-letter-exchange';

// The templates: what each fills in, given the names of the exchanges that are there; nothing if it knows none.
const presets = {
  retry: () => ({ 'delayed-retry-type': 'all', 'delayed-retry-min': 1000, 'delayed-retry-max': 60000 }),
  letters: (exchanges) => {
    const name = deadLetterExchange(exchanges);
    return name && { [dlx]: name };
  },
};

export function render({ query, title }) {
  const operator = query.operator === '1';
  const vhost = query.vhost || oneVHost.value;
  const kind = operator ? 'operator-policies' : 'policies';
  const got = useData(
    (signal) => (query.policy ? api.get(`${kind}/${path`${vhost}/${query.policy}`}`, {}, { signal }) : null),
    [kind, query.policy && vhost, query.policy],
    { every: 0, keep: false }, // a policy of the same name in another virtual host is another
  );
  const lacks = lacksTag(operator ? 'administrator' : 'policymaker');
  const list = { vhost: listWith(vhost), tab: operator ? 'operator' : '' };
  const remove = async () => {
    if (!(await removePolicy({ vhost, name: query.policy }, operator))) return;
    letGo();
    go('/policies', list);
  };
  return html`<p class="crumbs"><a href=${up('/policies', list)}>${t('policies.title')}</a></p>
    <div class="page-head"><h1>${title}</h1>${got.data && html`<${Action} lacks=${lacks} onClick=${remove}><${Icon} name="discard" /> ${t('queues.delete')}</${Action}>`}</div>
    ${got.data !== undefined ? html`<${Editor} key=${visits.value + (query.policy ? vhost : '')} operator=${operator} vhost=${vhost} known=${got.data} query=${query} />` : got.error ? html`<${Failure} error=${got.error} retry=${got.refresh} />` : html`<${Loading} />`}`;
}

// warningOf is what a pattern hardly means: signs of Chinese keyboards are none of an expression, and match only themselves.
function warningOf(pattern) {
  const wide = [...new Set(pattern.match(/[\uff01-\uff5e。]/g))].join(' ');
  if (wide) return t('policies.wide', { wide, narrow: folded(pattern).replaceAll('。', '.') });
  return lookAround(pattern) ? t('policies.re2') : '';
}

function begin(known, query, vhost) {
  if (known)
    return {
      vhost,
      name: known.name,
      pattern: known.pattern,
      applyTo: known['apply-to'],
      priority: known.priority,
      definition: known.definition,
    };
  return {
    vhost,
    name: '',
    pattern: query.pattern || '',
    applyTo: 'queues',
    priority: 0,
    definition: presets[query.preset]?.([]) || {},
  };
}

function Editor({ operator, vhost, known, query }) {
  const [f, set] = useState(() => begin(known, query, vhost));
  const [text, setText] = useState(() => JSON.stringify(begin(known, query, vhost).definition, null, 2));
  const read = parseObject(text, t('policies.json'));
  const put = (name) => (v) => set({ ...f, [name]: v });
  const setKeys = (values) => {
    const definition = { ...f.definition };
    for (const [key, v] of Object.entries(values))
      if ((v ?? null) === null) delete definition[key];
      else definition[key] = v;
    set({ ...f, definition });
    setText(JSON.stringify(definition, null, 2));
  };
  const type = (raw) => {
    setText(raw);
    const now = parseObject(raw, t('policies.json'));
    if (now.value) set({ ...f, definition: now.value });
  };
  const exchanges = useData(
    (signal) => api.get(path`exchanges/${f.vhost}`, { columns: 'name', disable_stats: true }, { signal }),
    [f.vhost],
    { every: 0 },
  );
  const suggested = (exchanges.data || []).map((e) => e.name).filter(Boolean);
  const named = read.value?.[dlx];
  const missing = exchanges.data && named && typeof named === 'string' && !suggested.includes(named) ? named : '';
  const letters = useRef(null);
  const [wrong, setWrong] = useState(''); // what is wrong with a text that is no value: then the definition lacks it
  useEffect(() => {
    const fields = [...letters.current.querySelectorAll('input')];
    setWrong(fields.find((x) => x.validity.customError)?.validationMessage || '');
  });
  useDraft([f, text, wrong], known ? ['vhost'] : []);
  const trial = useTrial({ ...f, operator, definition: wrong ? null : read.value, there: suggested.length });
  // Queues with an argument of their own do not use it: the broker says whether any would.
  const lost =
    missing && (!trial.trial || trial.trial.warnings.some((w) => w.startsWith(`exchange '${missing}' does not`)));
  const makeExchange = async () => {
    if (await newExchange({ vhost: f.vhost, name: missing, type: 'fanout' })) exchanges.refresh();
  };
  const fillIn = (preset) => {
    const more = presets[preset](suggested);
    if (more) setKeys(more);
    else letters.current.querySelector(`[data-setting="${dlx}"]`)?.focus();
  };
  const [left, leave] = useState(false);
  useEffect(() => {
    if (left) go('/policies', { vhost: listWith(f.vhost), tab: operator ? 'operator' : '' });
  }, [left]);
  const empty = [
    [f.name, 'queues.name'],
    [f.pattern, 'policies.pattern'],
    [read.error || Object.keys(read.value).length, 'policies.definition'],
  ].find(([value]) => !value);
  const lacks = first(
    lacksTag(operator ? 'administrator' : 'policymaker'),
    read.error,
    empty && t('form_words.fill_in', { what: t(empty[1]) }),
  );
  const kind = operator ? 'operator-policies' : 'policies';
  const taken = useTaken(`${kind}/${path`${f.vhost}`}`, !known);
  const badPattern = trial.error && patternTrouble(trial.error) ? refusal(trial.error, t) : undefined;
  const submit = async (e) => {
    e.preventDefault();
    const policy = { ...f, operator, definition: read.value };
    if (
      !lacks &&
      (await mayDrop(policy)) &&
      (await attempt(() =>
        api.put(`${kind}/${path`${f.vhost}/${f.name}`}`, bodyOf(policy)).catch((error) => {
          if (error.reason && !error.noRight) error.reason = refusal(error.reason, t);
          throw error;
        }),
      ))
    ) {
      if (lost) toast(t('policies.saved_missing', { name: f.name, exchange: missing }), 'note');
      else toast(t('policies.saved', { name: f.name }));
      letGo();
      leave(true);
    }
  };
  const forExchanges = f.applyTo === 'exchanges';
  const fields = fieldsOf(
    operator ? 'operator policy' : 'policy',
    (s) => f.applyTo === 'all' || (s.applies_to === 'exchanges') === forExchanges,
  );
  const keyAlone = some(f.definition['dead-letter-routing-key']) && !some(named);
  const exchangeHint = missing ? t('create.no_exchange') : keyAlone ? t('policies.key_alone') : undefined;
  const fieldOf = ({ name }) =>
    html`<${SettingField} key=${name} name=${name} value=${f.definition[name]} onInput=${(v) => setKeys({ [name]: v })} exchanges=${suggested} nameless data-setting=${name} hint=${name === dlx ? exchangeHint : undefined} />`;
  const kinds = ['queues', 'classic_queues', 'quorum_queues', ...(operator ? [] : ['exchanges', 'all'])];
  return html`<div class="split">
    <form class="card" onSubmit=${submit} ref=${letters}>
      <div class="form">
        <${TextField} label=${t('queues.name')} value=${f.name} readonly=${!!known} hint=${taken.has(f.name) ? t('policies.replaces', { name: f.name }) : undefined} onInput=${put('name')} required autofocus=${!known} />
        <${Select} label=${t('queues.vhost')} value=${f.vhost} disabled=${!!known} onInput=${put('vhost')} options=${vhosts.value.includes(f.vhost) ? vhosts.value : [f.vhost]} />
        <${TextField} label=${t('policies.pattern')} value=${f.pattern} onInput=${put('pattern')} required error=${badPattern} hint=${t('policies.pattern_hint')} warning=${warningOf(f.pattern)} />
        <${Select} label=${t('policies.apply_to')} value=${f.applyTo} onInput=${put('applyTo')} options=${kinds.map((k) => [k, t(`apply_to.${k}`)])} />
        <${NumberField} label=${t('policies.priority')} hint=${t('policies.priority_hint')} value=${f.priority} onInput=${put('priority')} />
      </div>
      <h2>${t('policies.definition')}</h2>
      ${
        !operator &&
        !known &&
        html`<div class="buttons" role="group" aria-labelledby="templates"><span class="faint" id="templates">${t('policies.templates')}</span> ${Object.keys(
          presets,
        ).map(
          (p) =>
            html`<button type="button" class="small" key=${p} onClick=${() => fillIn(p)}>${t(`preset.${p}`)}</button>`,
        )}</div>`
      }
      ${groupNames.map((group) => {
        const of = fields.filter((s) => groupOf(s.name) === group);
        const retries = of.map((s) => s.name).filter(isRetry);
        return (
          of.length > 0 &&
          html`<fieldset class="card" key=${group}><legend>${t(`group.${group}`)}</legend>
            ${retries.length > 0 && html`<${RetryFields} names=${retries} settings=${f.definition} change=${setKeys} after=${some(f.definition['dead-letter-exchange']) ? 'exchange' : 'unknown'} />`}
            <div class="form">${of.filter((s) => !isRetry(s.name)).map(fieldOf)}</div></fieldset>`
        );
      })}
      <div class="form">
        <${TextArea} className="whole" label=${t('policies.json')} hint=${t('policies.json_hint')} error=${read.error} value=${text} onInput=${type} rows="8" /></div>
      <p class="buttons"><${Action} type="submit" className="primary" lacks=${lacks}>${t('policies.save')}</${Action}></p>
    </form>
    <div class="stack">
      <section class="card"><h2>${t('trial.title')}</h2><${Trial} vhost=${f.vhost} of=${{ ...trial, wrong }} />
        ${lost && !missing.startsWith('amq.') && html`<p class="buttons"><${Action} lacks=${rightsIn(f.vhost).exchange('configure', missing)} onClick=${makeExchange}><${Icon} name="plus" /> ${t('policies.create_exchange', { name: missing })}</${Action}></p>`}</section>
      <section class="card"><h2>${t('policies.elsewhere')}</h2><${Codes} label=${t('policies.elsewhere')} of=${policyCodes(here(), { ...f, operator, priority: f.priority ?? 0, name: f.name || 'policy', definition: read.value || {} })} /></section>
    </div></div>`;
}
