// The login page. What was asked for is shown afterwards: the address stays.
import { html, useState, useEffect, useRef } from './html.js';
import { t, lang, languages, chooseLanguage } from './i18n.js';
import { ended, logIn } from './session.js';
import { icon } from './place.js';
import { reasonOf } from './layers.js';
import { TextField } from './form.js';

export function Login() {
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [refused, setRefused] = useState('');
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    document.title = `${t('login.title')} – Bartleby`;
  }, [lang()]);
  const form = useRef();
  useEffect(() => form.current.elements.namedItem('username').focus(), []);
  const submit = async (e) => {
    e.preventDefault();
    setBusy(true);
    setRefused('');
    try {
      await logIn(name, password);
    } catch (error) {
      setBusy(false);
      setRefused(
        error.status !== 401
          ? reasonOf(error)
          : /localhost/.test(error.reason)
            ? t('login.localhost')
            : error.kind === 'not_authorised'
              ? t('login.no_tag')
              : t('login.wrong'),
      );
    }
  };
  return html`<main id="main" class="login">
    <form ref=${form} onSubmit=${submit}>
      <h1><img src=${icon} alt="" width="40" height="40" /> Bartleby</h1>
      <p class="faint">${t('login.about')}</p>
      ${ended.value && !refused && html`<p class="banner" role="status">${t(`login.ended_${ended.value}`)}</p>`}
      <${TextField} label=${t('login.name')} value=${name} onInput=${setName} name="username" autocomplete="username" required />
      <${TextField} label=${t('login.password')} value=${password} onInput=${setPassword} type="password" name="password" autocomplete="current-password" />
      ${refused && html`<p class="banner bad" role="alert">${refused}</p>`}
      <button type="submit" class="primary" disabled=${busy}>${t('login.submit')}</button>
      <p class="languages">${Object.entries(languages).map(([l, own]) => html`<button type="button" class="plain" lang=${l} aria-pressed=${l === lang()} onClick=${() => chooseLanguage(l)}>${own}</button>`)}</p>
    </form>
  </main>`;
}
