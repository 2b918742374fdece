// The console begins here.
import { html, render, useRef } from './html.js';
import { session } from './ahead.js';
import { startLanguage } from './i18n.js';
import { startTheme } from './theme.js';
import { find, route, startRouter } from './router.js';
import { startSession, user } from './session.js';
import { startLive } from './live.js';
import { startKeys } from './keys.js';
import { startFocus } from './focus.js';
import { startTips } from './tips.js';
import { Frame } from './frame.js';
import { Login } from './login.js';
import { pages } from '../pages/registry.js';
import { actions, lookUp } from '../pages/actions.js';

function App() {
  const asked = useRef(false); // who it is: then the login page had the focus
  if (user.value === undefined) return null;
  if (!user.value) asked.current = true;
  return user.value
    ? html`<${Frame} loggedIn=${asked.current} pages=${pages} actions=${actions} lookUp=${lookUp} />`
    : html`<${Login} />`;
}

startTheme();
startRouter();
startKeys();
startFocus();
startTips();
startLive();
const openMenus = 'details.menu[open]';
// Menus close when something else is pressed, or with Esc.
addEventListener('click', (e) => {
  document.querySelectorAll(openMenus).forEach((/** @type {HTMLDetailsElement} */ d) => {
    if (!d.contains(/** @type {Node} */ (e.target))) d.open = false;
  });
});
addEventListener('keydown', (e) => {
  if (e.key !== 'Escape') return;
  document.querySelectorAll(openMenus).forEach((/** @type {HTMLDetailsElement} */ d) => {
    d.open = false;
    d.querySelector('summary').focus();
  });
});
// The page's modules come while the frame is drawn, which asks for them again, and says what is wrong.
session.then((s) => s.user && find(pages, route.value.path)?.page.load()).catch(() => {});
await Promise.all([
  startLanguage(),
  startSession().catch(() => {
    user.value = null;
  }),
]);
const app = document.getElementById('app');
app.replaceChildren(); // what was painted until now
render(html`<${App} />`, app);
