// Where Prometheus gets the metrics, what it needs for that, and the dashboards and alerts that come with the broker.
import { html } from '../../lib/html.js';
import { t } from '../../lib/i18n.js';
import { address, api } from '../../lib/api.js';
import { href } from '../../lib/router.js';
import { useData } from '../../lib/live.js';
import { Code } from '../../lib/code.js';
import { Icon } from '../../lib/icon.js';
import { prefix } from '../../lib/place.js';
import { Elsewhere, Shown } from '../../lib/states.js';
import { isLocal, metricsAt, scrapeConfig } from './scrape.js';

const dashboards = ['bartleby-overview.json', 'bartleby-dead-letters.json', 'bartleby-time.json'];

export function render() {
  const got = useData((signal) => api.get('overview', { columns: 'listeners', disable_stats: true }, { signal }), [], {
    every: 0,
  });
  return html`<p class="crumbs"><a href=${href('/node')}>${t('node.title')}</a></p>
    <h1>${t('monitoring.title')}</h1><p>${t('monitoring.about')}</p>
    <${Shown} of=${got}>${({ listeners }) => html`<${Scrape} listeners=${listeners} />`}</${Shown}>
    <div class="grid"><section class="card"><h2>${t('monitoring.dashboards')}</h2><p>${t('monitoring.dashboards_text')}</p>
        <ul>${dashboards.map((name) => html`<li key=${name}><${Download} at="x/dashboards" file=${name} /></li>`)}</ul></section>
      <section class="card"><h2>${t('monitoring.alerts')}</h2><p>${t('monitoring.alerts_text')}</p>
        <ul><li><${Download} at="x/alert-rules" file="bartleby.rules.yml" /></li>
          <li><${Elsewhere} file="docs/metrics.md">${t('monitoring.meaning')}</${Elsewhere}></li>
          <li><a href=${href('/node')}>${t('monitoring.now')}</a></li></ul></section></div>`;
}

const Download = ({ at, file }) =>
  html`<a class="nowrap" download href=${address(`${at}/${file}`)}>${file} <${Icon} name="download" /></a>`;

function Scrape({ listeners }) {
  const at = metricsAt(listeners, location);
  const own = listeners.find((l) => l.protocol.endsWith('/prometheus'));
  const host = at.host.includes(':') && !at.host.startsWith('[') ? `[${at.host}]` : at.host;
  const url = `${at.scheme}://${host}:${at.port}${own ? '' : prefix}/metrics`;
  return html`<section class="card"><h2>${t('monitoring.url')}</h2><${Code} text=${url} label=${t('monitoring.url')} />
      ${isLocal(own) && html`<p class="banner warn"><${Icon} name="warning" /> ${t('monitoring.local', { address: `${own.ip_address}:${own.port}` })}</p>`}
      <p class="hint">${t('monitoring.open')}</p>
      <ul>${['/metrics', '/metrics/per-object', '/metrics/detailed', '/metrics/memory-breakdown'].map((path) => html`<li key=${path}><code>${path}</code> ${t(`monitoring.path.${path.slice(9) || 'all'}`)}</li>`)}</ul></section>
    <section class="card"><h2>${t('monitoring.config')}</h2><p class="hint">${t('monitoring.config_text')}</p>
      <${Code} text=${scrapeConfig({ ...at, host })} label=${t('monitoring.config')} /></section>`;
}
