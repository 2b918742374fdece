// Code to copy.
import { html, useState, useId } from './html.js';
import { t } from './i18n.js';
import { Icon } from './icon.js';
import { toast } from './layers.js';
import { pref } from './store.js';

// copy puts a text into the clipboard, also where the page came over plain HTTP.
export async function copy(text) {
  let done = false;
  if (navigator.clipboard && isSecureContext) {
    done = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
  }
  if (!done) {
    const area = document.createElement('textarea');
    area.value = text;
    (document.querySelector('dialog[open]') || document.body).append(area);
    area.select();
    done = document.execCommand('copy');
    area.remove();
  }
  toast(done ? t('frame.copied') : t('frame.not_copied'), done ? 'good' : 'bad');
}

export function CopyButton({ text, label }) {
  return html`<button type="button" class="plain" onClick=${() => copy(typeof text === 'function' ? text() : text)} aria-label=${label || t('frame.copy')} title=${label || t('frame.copy')}><${Icon} name="copy" /></button>`;
}

export function Code({ text, label }) {
  return html`<div class="code"><pre tabindex="0" role="region" aria-label=${label || t('frame.code')}><code>${text}</code></pre><${CopyButton} text=${text} /></div>`;
}

const languages = { java: 'Java', python: 'Python', node: 'Node.js', go: 'Go', dotnet: '.NET' };
const shells = { linux: 'Linux, macOS', windows: 'Windows (cmd.exe)' };
const names = { ...languages, ...shells, terraform: 'Terraform', kubernetes: 'Kubernetes' };
const language = pref('tongue', 'python'); // chosen last
const shell = pref('shell', 'linux');

// Codes is one thing in several languages, {java, python, node, go, dotnet}, or for several shells and tools, {linux,
// windows, curl, …}.
export function Codes({ of, label }) {
  const id = useId();
  const [mine, choose] = useState('');
  const all = Object.keys(of);
  const chosen = [mine, language.value, shell.value].find((name) => of[name]) || all[0];
  const pick = (name) => {
    choose(name);
    if (languages[name]) language.value = name;
    if (shells[name]) shell.value = name;
  };
  const move = (e) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!by) return;
    e.preventDefault();
    const next = all[(all.indexOf(chosen) + by + all.length) % all.length];
    pick(next);
    document.getElementById(`${id}-${next}`)?.focus();
  };
  return html`<div class="codes">
    <div role="tablist" aria-label=${label || t('frame.code')} onKeyDown=${move}>
      ${all.map((name) => html`<button type="button" role="tab" id=${`${id}-${name}`} aria-selected=${name === chosen} aria-controls=${`${id}-panel`} tabindex=${name === chosen ? 0 : -1} onClick=${() => pick(name)}>${names[name] || name}</button>`)}
    </div>
    <div role="tabpanel" id=${`${id}-panel`} aria-labelledby=${`${id}-${chosen}`}><${Code} text=${of[chosen]} label=${label ? t('frame.pair', { name: label, value: names[chosen] || chosen }) : names[chosen] || chosen} /></div>
  </div>`;
}
