// Charts. Each has a text that says what it shows, and its figures as a table behind a button.
import { html, useEffect, useRef, useState } from './html.js';
import { t, lang, short, clock, dateTime, hourMinute, num } from './i18n.js';
import { now } from './live.js';
import { assets } from './place.js';
import { setQuery } from './router.js';
import { ranges } from './samples.js';
import { theme } from './theme.js';

// colours that people with other eyes can tell apart (Okabe and Ito), each with its pattern for stacks.
export const colours = ['var(--c1)', 'var(--c2)', 'var(--c3)', 'var(--c4)', 'var(--c5)', 'var(--c6)', 'var(--c7)'];

let library = null;
function loadLibrary() {
  library ||= new Promise((resolve, reject) => {
    const style = document.createElement('link');
    style.rel = 'stylesheet';
    style.href = `${assets}/vendor/uPlot.min.css`;
    const script = document.createElement('script');
    script.src = `${assets}/vendor/uPlot.iife.min.js`;
    script.onload = () => resolve(globalThis.uPlot);
    script.onerror = reject;
    document.head.append(style, script);
  });
  return library;
}

// whole are the steps of an axis of counts.
const whole = Array.from({ length: 13 }, (_, i) => [1, 2, 5].map((n) => n * 10 ** i)).flat();

const real = (el, colour) => getComputedStyle(el).getPropertyValue(colour.slice(4, -1)).trim();

// Chart draws lines over time: times in ms, series [{label, values, colour}]. stacked adds them up; with steps values are counts
// of the time since the one before, and the legend has their sums. A value that is null is not known: nothing is drawn. value writes a
// figure, unknown says what time is not known.
export function Chart({
  title,
  times,
  series,
  stacked,
  steps,
  value = short,
  height = 180,
  legend = true,
  unknown = null,
}) {
  const box = useRef();
  const plot = useRef(null);
  const [table, showTable] = useState(false);
  const tops = stacked ? stack(series).reverse() : series.map((s) => s.values);
  const key = series.map((s) => s.label).join() + theme.value + stacked + lang();
  useEffect(() => {
    if (table) return undefined;
    let gone = false;
    let observer;
    loadLibrary().then(
      (UPlot) => {
        if (gone || !box.current) return;
        const ink = real(box.current, 'var(--faint)');
        const grid = real(box.current, 'var(--line)');
        const axis = {
          stroke: ink,
          grid: { stroke: grid, width: 1 },
          ticks: { stroke: grid, width: 1 },
          font: '12px system-ui',
        };
        // Of what is stacked the highest line is drawn first: the others, and what is below them, are over it.
        const lines = series.map((s, i) => {
          const colour = real(box.current, s.colour || colours[i % colours.length]);
          return {
            label: s.label,
            stroke: colour,
            width: 2,
            fill: stacked ? colour + 'cc' : undefined,
            dash: [[], [6, 3], [2, 3], [8, 3, 2, 3]][i % 4],
            points: { show: (u, n) => u.data[n].filter((v) => (v ?? null) !== null).length < 2 },
            paths: steps ? UPlot.paths.stepped({ align: -1 }) : undefined,
          };
        });
        plot.current = new UPlot(
          {
            width: box.current.clientWidth || 300,
            height,
            legend: { show: false },
            cursor: { y: false, sync: { key: 'time' } },
            padding: [null, 36, null, null], // half of a time, which may stand at the end
            scales: {
              x: {
                range: (u, low, high) => (u.data[0].length < 2 ? [low - 60, low] : [Math.min(low, high - 60), high]),
              },
              y: { range: (_, low, high) => [0, Math.max(high * 1.1, 1)] },
            },
            axes: [
              {
                ...axis,
                space: (_, __, from, to) => (to - from < 600 ? 95 : 70),
                values: (_, ticks, __, ___, by) => ticks.map((x) => (by < 60 ? clock(x * 1000) : hourMinute(x * 1000))),
              },
              {
                ...axis,
                incrs: value === short ? whole : undefined, // there is no half message
                size: (_, labels) => Math.max(40, 18 + 7.5 * Math.max(0, ...(labels || []).map((l) => l.length))),
                values: (_, ticks) => ticks.map((v) => value(v)),
              },
            ],
            series: [{}, ...(stacked ? lines.reverse() : lines)],
          },
          [times.map((x) => x / 1000), ...tops],
          box.current,
        );
        observer = new ResizeObserver(
          () => box.current && plot.current?.setSize({ width: box.current.clientWidth, height }),
        );
        observer.observe(box.current);
      },
      () => showTable(true),
    );
    return () => {
      gone = true;
      observer?.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [key, table, height]);
  useEffect(() => {
    plot.current?.setData([times.map((x) => x / 1000), ...tops]);
  });
  const last = (s) => (steps ? s.values.reduce((a, b) => a + (b || 0), 0) : s.values.at(-1));
  return html`<figure class="chart">
    <figcaption><span>${title}</span><button type="button" class="plain small" aria-pressed=${table} onClick=${() => showTable(!table)}>${t('chart.table')}</button></figcaption>
    ${table ? html`<${Figures} ...${{ title, times, series, value }} />` : html`<div class="plot" style=${{ minHeight: `${height}px` }} ref=${box} role="img" aria-label=${t(steps ? 'chart.sums' : 'chart.shows', { title, figures: series.map((s) => `${s.label} ${value(last(s) ?? 0)}`).join(t('frame.comma')) })}></div>`}
    ${legend && html`<ul class="legend">${series.map((s, i) => html`<li key=${s.label}><i class=${`swatch s${(i % 7) + 1}`}></i>${s.label} <b>${(last(s) ?? null) === null ? '–' : value(last(s))}</b></li>`)}</ul>`}
    ${unknown && html`<${Unknown} of=${unknown} />`}
  </figure>`;
}

function stack(series) {
  const sums = series[0]?.values.map(() => 0) || [];
  return series.map((s) => s.values.map((v, i) => (v === null ? null : (sums[i] += v || 0))));
}

const gapsShown = 3;
const restartMillis = 5000; // what is shorter falls between two readings

// Unknown says of what time there are no readings, as unknownOf found it; nothing if there is no such time.
export function Unknown({ of: { since, gaps } }) {
  if (!since && !gaps.length) return null;
  const isToday = (at) => new Date(at).toDateString() === new Date(now.value).toDateString();
  const at = (ms, time) => (isToday(ms) ? time(ms) : dateTime(ms));
  const older = gaps.length - gapsShown;
  const parts = gaps
    .slice(-gapsShown)
    .map(({ from, to }) =>
      to - from < restartMillis
        ? t('chart.restart', { at: at(to, clock) })
        : t('chart.gap', { from: at(from, clock), to: at(to, clock) }),
    );
  if (since) parts.unshift(t('chart.since', { at: at(since, hourMinute) }));
  if (older > 0) parts.push(t('chart.more_gaps', { n: older }));
  return html`<p class="hint unknown">${parts.map((p) => html`<span key=${p}>${p} </span>`)}</p>`;
}

function Figures({ title, times, series, value }) {
  return html`<div class="table-box small" tabindex="0" role="region" aria-label=${title}><table><caption class="hidden">${title}</caption>
    <thead><tr><th scope="col">${t('chart.time')}</th>${series.map((s) => html`<th scope="col" class="end">${s.label}</th>`)}</tr></thead>
    <tbody>${times.map((at, i) => html`<tr><th scope="row">${clock(at)}</th>${series.map((s) => html`<td class="end">${s.values[i] === null || s.values[i] === undefined ? '–' : value(s.values[i])}</td>`)}</tr>`)}</tbody></table></div>`;
}

// Sparkline is a small line without axes; label says what it shows. Where a value is null it has a gap.
export function Sparkline({ values, label, width = 96, height = 22, bars }) {
  const all = values?.length ? values : [0];
  const most = Math.max(...all, 1);
  const x = (i) => (all.length === 1 ? width / 2 : (i / (all.length - 1)) * (width - 4) + 2);
  const y = (v) => height - 2 - (v / most) * (height - 5);
  const lines = all.reduce((parts, v, i) => {
    if (v === null) parts.push([]);
    else parts.at(-1).push(`${x(i).toFixed(1)},${y(v).toFixed(1)}`);
    return parts;
  }, /** @type {string[][]} */ ([[]]));
  const about = t('frame.pair', { name: label, value: t('chart.spark', { most: Math.max(...all), last: all.at(-1) }) });
  return html`<svg class="spark" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${about}><title>${about}</title>
    ${
      bars
        ? all.map(
            (v, i) =>
              html`<rect x=${(i * width) / all.length} width=${Math.max(1, width / all.length - 1)} y=${v ? y(v) : height - 1} height=${v ? height - y(v) : 1} />`,
          )
        : lines.map((points, i) => html`<polyline key=${i} points=${points.join(' ')} />`)
    }</svg>`;
}

// Bar is a share of a whole as a bar, in parts: [{label, value, n}], n being its colour from 1 on.
export function Bar({ parts, label }) {
  const sum = parts.reduce((a, p) => a + p.value, 0) || 1;
  const shares = parts.filter((p) => p.value).map((p) => `${p.label} ${num(p.value)}`);
  return html`<span class="bar" role="img" aria-label=${t('frame.pair', { name: label, value: shares.join(t('frame.comma')) })}>
    ${parts.filter((p) => p.value).map((p) => html`<i key=${p.label} class=${`s${p.n}`} style=${{ width: `${(100 * p.value) / sum}%` }} title=${`${p.label} ${num(p.value)}`}></i>`)}</span>`;
}

// Progress: done of total, in words too.
export function Progress({ done, total, label }) {
  const share = total > 0 ? Math.min(1, done / total) : 0;
  return html`<span class="progress" role="progressbar" aria-label=${label} aria-valuemin="0" aria-valuemax=${total} aria-valuenow=${done}><i style=${{ width: `${share * 100}%` }}></i></span>`;
}

// Ranges is the choice of how far back charts go. It is in the address.
export function Ranges({ range, usual }) {
  return html`<div class="buttons" role="group" aria-label=${t('overview.range')}>${Object.keys(ranges).map((r) => html`<button type="button" key=${r} class="small" aria-pressed=${r === range} onClick=${() => setQuery({ range: r === usual ? '' : r })}>${t(`overview.range_${r}`)}</button>`)}</div>`;
}
