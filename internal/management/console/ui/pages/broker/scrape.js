// What Prometheus needs to scrape the broker: where it is, and its configuration. Pure.

// metricsAt is where the metrics are, for the listeners of a node and an address of the console: {scheme, host, port}. The port is that of
// the management API if no other has them.
export function metricsAt(listeners, { protocol, hostname, port }) {
  const found =
    listeners.find((l) => l.protocol === 'http/prometheus') || listeners.find((l) => l.protocol === 'https/prometheus');
  const scheme = found ? found.protocol.replace('/prometheus', '') : protocol.replace(':', '');
  const host = hostname || 'localhost';
  return { scheme, host, port: String(found?.port ?? (port || (scheme === 'https' ? 443 : 80))) };
}

// isLocal says that a listener accepts only clients of its own machine.
export const isLocal = (listener) => /^(127\.|::1$|localhost$)/.test(listener?.ip_address ?? '');

// scrapeConfig is a part of prometheus.yml: all totals, and the values of each queue.
export function scrapeConfig({ scheme, host, port }) {
  const target = `static_configs: [{targets: ["${host}:${port}"], labels: {namespace: production}}]`;
  const secure = scheme === 'https' ? '\n    scheme: https' : '';
  return `scrape_configs:
  - job_name: bartleby${secure}
    ${target}
  - job_name: bartleby-queues${secure}
    metrics_path: /metrics/detailed
    params: {family: [queue_coarse_metrics, queue_metrics, dead_letter_metrics]}
    ${target}
`;
}
