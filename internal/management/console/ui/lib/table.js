// The table: order, filter and pages of a source (list.js), columns to choose, rows to select and to walk with the
// keyboard (the table is one stop of Tab), export. Of more than 200 rows only those in view are drawn.
import { html, useState, useRef, useEffect, useId, useMemo, useLayoutEffect } from './html.js';
import { t, num } from './i18n.js';
import { Icon } from './icon.js';
import { Failure, Loading } from './states.js';
import { announce, focused, toRows } from './focus.js';
import { useShortcuts } from './keys.js';
import { keep, kept, onLeave } from './router.js';
import { pref } from './store.js';
import { between, csv, view } from './order.js';
import { cell } from './list.js';
import { save } from './save.js';

const drawnMax = 200;

// Table shows a source; one that is wrong, since what is asked for is, says nothing of rows. Columns are {key, title, render(row), value(row), sort, align, off, always, names}: sort is false, or what the API calls
// it; value is for order and export; off hides it until it is chosen. keyOf identifies a row; nameOf is how it is called for those who hear it, if
// that is not what its cells say of the columns that are always there or that name it; selection is a useState of a Set of keys; onOpen is Enter
// and a click beside links. empty is shown when there is nothing at all. actions(rows) are buttons.
export function Table({
  id,
  caption,
  source,
  columns,
  keyOf = (row) => row.name,
  nameOf,
  selection,
  onOpen,
  empty,
  actions,
  filter = true,
  more,
  className = '',
}) {
  const chosen = pref(`columns.${id}`, null);
  const shown = useMemo(
    () => columns.filter((c) => (chosen.value ? chosen.value.includes(c.key) : !c.off) || c.always),
    [columns, chosen.value],
  );
  const cells = useId();
  const naming = shown.filter((c) => c.always || c.names);
  const [active, setActive] = useState(0);
  const rows = source.rows;
  const keys = useMemo(() => rows.map(keyOf), [rows]);
  const anchor = useRef(null);
  const filterBox = useRef();
  const box = useRef();
  const drawn = useView(box, rows.length);
  const at = Math.min(active, Math.max(0, rows.length - 1));

  const select = (key, range) => {
    if (!selection) return;
    const [now, set] = selection;
    const next = new Set(now);
    if (range && anchor.current !== null) {
      between(keys, anchor.current, key).forEach((k) => next.add(k));
    } else if (next.has(key)) {
      next.delete(key);
    } else {
      next.add(key);
    }
    anchor.current = key;
    set(next);
  };
  const rowAt = (index) => box.current?.querySelector(`tr[data-index="${index}"]`);
  const walk = (to) => {
    if (!rows.length) return;
    setActive(to);
    drawn.reveal(to);
    requestAnimationFrame(() => rowAt(to)?.focus());
  };
  const beyond = useRef(0); // the row that is waited for after the last one
  const move = (by) => {
    if (!box.current?.contains(document.activeElement)) return walk(at);
    if (at + by >= rows.length && more?.next) {
      beyond.current = rows.length;
      if (!more.busy) more.load();
    }
    return walk(Math.max(0, Math.min(rows.length - 1, at + by)));
  };
  useEffect(() => {
    const to = beyond.current;
    if (to === 0 || rows.length <= to) return;
    beyond.current = 0;
    if (rowAt(to - 1)?.contains(document.activeElement)) walk(to);
  }, [rows.length]);
  useLayoutEffect(() => {
    if (box.current) rove(box.current, at);
  });
  // A list that is read again gives the focus back to its row.
  const inRow = useRef(false);
  if (!source.known && rowAt(at)?.contains(document.activeElement)) inRow.current = true;
  useEffect(() => {
    if (!source.known || !inRow.current) return;
    inRow.current = false;
    if (document.activeElement.matches('body, #main')) rowAt(at)?.focus();
  }, [source.known]);
  // Who comes back goes on at the row that was left, or at the one that took its place. What was selected may have gone.
  const left = useRef(kept('row'));
  const latest = useRef();
  latest.current = keys;
  useEffect(
    () =>
      onLeave(() => {
        const row = focused()?.closest('tr[data-index]');
        if (!box.current?.contains(row)) {
          if (kept('row')?.table === id) keep('row', undefined);
          return;
        }
        const index = Number(row.getAttribute('data-index'));
        keep('row', { table: id, key: latest.current[index], index, top: box.current.scrollTop, y: scrollY });
      }),
    [],
  );
  useEffect(() => {
    const { current: spot } = left;
    if (!source.known || spot === null) return;
    left.current = null;
    const gone = !source.server && selection && [...selection[0]].filter((key) => !keys.includes(key));
    if (gone?.length > 0) selection[1](new Set([...selection[0]].filter((key) => !gone.includes(key))));
    if (spot?.table !== id || !rows.length || !document.activeElement.matches('body, #main')) return;
    scrollTo(0, spot.y);
    box.current.scrollTop = spot.top;
    const there = keys.indexOf(spot.key);
    walk(there < 0 ? Math.min(spot.index, rows.length - 1) : there);
  }, [source.known]);
  const before = useRef(0);
  useEffect(() => {
    if (!source.known) return;
    if (before.current > 0 && rows.length === 0 && !source.wrong) announce(t('table.rows', { n: 0 }));
    before.current = rows.length;
  }, [source.known, rows.length]);
  useShortcuts(
    {
      j: ['keys.next_row', () => move(1)],
      k: ['keys.previous_row', () => move(-1)],
      x: selection && ['keys.select_row', () => rows[at] !== undefined && select(keys[at])],
      'Shift+x': selection && ['keys.select_range', () => rows[at] !== undefined && select(keys[at], true)],
      Enter: [
        'keys.open_row',
        (e) => {
          const row = e.target.closest('tr[data-index]');
          if (!row || rows[at] === undefined) return false;
          return onOpen ? onOpen(rows[at]) : (linkOf(row)?.click() ?? false);
        },
      ],
      '/': filter && ['keys.filter', () => filterBox.current?.focus()],
    },
    [rows, at, selection?.[0], !!onOpen],
  );

  if (source.error && !source.known) return html`<${Failure} error=${source.error} retry=${source.refresh} />`;
  if (!source.known) return html`<${Loading} />`;
  if (source.total === 0 && !source.text && empty && !more?.partial) return empty;
  const all = selection && rows.length > 0 && keys.every((k) => selection[0].has(k));
  const everyRow = () =>
    html`<input type="checkbox" checked=${all} aria-label=${t('table.select_all')} onChange=${() => selection[1](all ? new Set() : new Set(keys))} />`;
  return html`<div class=${`table-frame ${className}`}>
    <${Tools} ...${{ id, caption, source, columns, shown, chosen, selection, filter, filterBox, actions, keys, more }} />
    <${SortBar} columns=${shown} source=${source} select=${selection && rows.length > 0 && everyRow()} />
    <div class="table-box" ref=${box} role="region" aria-label=${caption} onScroll=${drawn.onScroll}>
      <table role="table" aria-rowcount=${rows.length + 1}>
        <caption class="hidden">${caption}</caption>
        <thead role="rowgroup"><tr role="row">
          ${selection && html`<th scope="col" role="columnheader" class="select">${everyRow()}</th>`}
          ${shown.map((c) => html`<${Head} key=${c.key} column=${c} source=${source} />`)}
        </tr></thead>
        <tbody role="rowgroup" onfocusin=${(e) => {
          const row = e.target.closest('tr[data-index]');
          if (!row) return;
          setActive(Number(row.dataset.index));
          rove(box.current, Number(row.dataset.index));
        }}>
          ${drawn.before > 0 && html`<tr class="spacer" aria-hidden="true"><td style=${{ height: drawn.before + 'px' }}></td></tr>`}
          ${rows.slice(drawn.first, drawn.last).map((row, i) => {
            const index = drawn.first + i;
            const key = keys[index];
            const picked = selection?.[0].has(key);
            const named = nameOf
              ? { 'aria-label': nameOf(row) }
              : { 'aria-labelledby': naming.map((c) => `${cells}-${index}-${c.key}`).join(' ') };
            return html`<tr key=${key} role="row" ...${named} data-index=${index} aria-rowindex=${index + 2} aria-selected=${selection ? !!picked : undefined} tabindex=${index === at ? 0 : -1}
              class=${onOpen ? 'opens' : ''}
              onKeyDown=${(e) => {
                if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
                  e.preventDefault();
                  move(e.key === 'ArrowDown' ? 1 : -1);
                }
                if (e.key === 'Home' || e.key === 'End') {
                  e.preventDefault();
                  walk(e.key === 'Home' ? 0 : rows.length - 1);
                }
                if (e.key === ' ' && selection && e.target === e.currentTarget) {
                  e.preventDefault();
                  select(key, e.shiftKey);
                }
              }}
              onClick=${(e) => {
                if (onOpen && !e.target.closest('a, button, input, label, summary') && getSelection().isCollapsed)
                  onOpen(row);
              }}>
              ${
                selection &&
                html`<td role="cell" class="select"><input type="checkbox" checked=${!!picked} aria-label=${t('table.select', { what: (nameOf || keyOf)(row) })}
                onClick=${(e) => {
                  e.preventDefault();
                  setTimeout(() => select(key, e.shiftKey));
                }} /></td>`
              }
              ${shown.map((c) => html`<td key=${c.key} id=${naming.includes(c) ? `${cells}-${index}-${c.key}` : undefined} role="cell" class=${classOf(c)} data-label=${c.title}>${cell(c, row)}</td>`)}
            </tr>`;
          })}
          ${drawn.after > 0 && html`<tr class="spacer" aria-hidden="true"><td style=${{ height: drawn.after + 'px' }}></td></tr>`}
        </tbody>
      </table>
      ${rows.length === 0 && !source.wrong && html`<p class="none">${t('table.none')}</p>`}
    </div>
    <${Pages} source=${source} more=${more} />
  </div>`;
}

// linkOf is what Enter opens in a row without onOpen.
const linkOf = (row) => row.querySelector('a[href]');

// rove makes one row the stop of Tab, with what is in it, but for what keys of the row do: Space selects, Enter opens.
function rove(box, at) {
  for (const row of box.querySelectorAll('tr[data-index]')) {
    const here = Number(row.dataset.index) === at;
    const opens = linkOf(row);
    for (const el of row.querySelectorAll('a[href], button, input, select, summary, [tabindex]'))
      el.tabIndex = here && el !== opens && el.type !== 'checkbox' ? 0 : -1;
  }
}

// classOf: on a phone a row is a card, whose head is the first column, and whose last line are the actions.
const classOf = (c) =>
  [c.align === 'end' && 'end', c.always && 'head', c.key === 'do' && 'do'].filter(Boolean).join(' ');

// sortOf is what a column is sorted by; '' if it is not.
const sortOf = (c, source) => (source.change && (c.sort === undefined ? c.key : c.sort)) || '';

// firstOrder is the order of rows when they are sorted by a column: figures begin with the largest.
const firstOrder = (c, source) => ({ sort: sortOf(c, source), reverse: c.align === 'end' });

// SortBar has what the heads of columns do, where rows are cards and there are no heads.
function SortBar({ columns, source, select }) {
  const id = useId();
  const sortable = columns.filter((c) => sortOf(c, source));
  if (!select && sortable.length === 0) return null;
  const { sort, reverse, change } = source;
  const by = sortable.some((c) => sortOf(c, source) === sort) ? sort : ''; // a select is empty at a value that it does not have
  const turn = t(reverse ? 'table.descending' : 'table.ascending');
  return html`<div class="sort-bar">
    ${
      sortable.length > 0 &&
      html`<label for=${id}>${t('table.sort')}</label> <select id=${id} value=${by} onChange=${(e) =>
        change(
          firstOrder(
            sortable.find((c) => sortOf(c, source) === e.target.value),
            source,
          ),
        )}>
      ${!by && html`<option value="" disabled selected>–</option>`}
      ${sortable.map((c) => html`<option value=${sortOf(c, source)} selected=${sortOf(c, source) === sort}>${c.title}</option>`)}</select>
    <button type="button" class="plain" onClick=${() => change({ sort, reverse: !reverse })} aria-label=${turn} title=${turn}>${reverse ? '▾' : '▴'}</button>`
    }
    <span class="grow"></span>${select && html`<label class="check">${t('table.select_all')} ${select}</label>`}</div>`;
}

function Head({ column: c, source }) {
  const by = sortOf(c, source);
  const sorted = by && source.sort === by;
  const direction = sorted ? (source.reverse ? 'descending' : 'ascending') : undefined;
  if (!by)
    return html`<th scope="col" role="columnheader" class=${c.align === 'end' ? 'end' : ''} title=${c.hint}>${c.title}</th>`;
  return html`<th scope="col" role="columnheader" aria-sort=${direction} class=${c.align === 'end' ? 'end' : ''} title=${c.hint}>
    <button type="button" onClick=${() => source.change(sorted ? { sort: by, reverse: !source.reverse } : firstOrder(c, source))}>${c.title}<span class="arrow" aria-hidden="true">${sorted ? (source.reverse ? '▾' : '▴') : ''}</span></button>
  </th>`;
}

function Tools({ id, caption, source, columns, shown, chosen, selection, filter, filterBox, actions, keys, more }) {
  const count = selection?.[0].size || 0;
  const picked = () => source.rows.filter((_, i) => selection?.[0].has(keys[i]));
  const values = (row) => shown.map((c) => (c.value ? c.value(row) : row[c.key]));
  const rows = () => (count ? picked() : source.rows);
  return html`<div class="table-tools">
    ${
      filter &&
      source.change &&
      html`<label class="search"><${Icon} name="search" /><span class="hidden">${t(source.named ? 'table.filter_names' : 'table.filter')}</span>
      <input type="search" ref=${filterBox} value=${source.text} aria-invalid=${source.wrong ? 'true' : undefined} placeholder=${t(source.named ? 'table.filter_names' : 'table.filter')} onInput=${(e) => source.change({ text: e.target.value })}
        onKeyDown=${(e) => {
          if (e.key !== 'Escape') return;
          e.preventDefault(); // the browser would clear it
          toRows(e.target.closest('.table-frame'));
        }} /></label>
      <label class="check small"><input type="checkbox" checked=${source.regex} onChange=${(e) => source.change({ regex: e.target.checked })} /> ${t('table.regex')}</label>
      ${source.wrong && html`<span class="tag bad" role="alert">${t('table.no_regex')}</span>`}`
    }
    <span class="count" aria-live="polite">${source.wrong ? '' : count ? t('table.selected', { n: count }) : more?.next ? t('table.so_far', { n: source.total }) : source.text ? t('table.filtered', { n: source.filtered, total: source.total }) : t('table.rows', { n: source.total })}</span>
    ${count > 0 && html`<button type="button" class="plain" onClick=${() => selection[1](new Set())}>${t('table.select_none')}</button>`}
    <span class="grow"></span>
    ${actions?.(count ? picked() : [])}
    <details class="menu"><summary aria-label=${t('table.columns')} title=${t('table.columns')}><${Icon} name="columns" /></summary>
      <fieldset><legend>${t('table.columns')}</legend>
        ${columns.map(
          (
            c,
          ) => html`<label class="check" key=${c.key}><input type="checkbox" disabled=${c.always} checked=${shown.includes(c)}
          onChange=${() => {
            chosen.value = columns.filter((x) => (x === c ? !shown.includes(c) : shown.includes(x))).map((x) => x.key);
          }} /> ${c.title || c.key}</label>`,
        )}
        <button type="button" onClick=${() => {
          chosen.value = null;
        }}>${t('table.usual_columns')}</button>
      </fieldset></details>
    <details class="menu"><summary aria-label=${t('table.export_rows')} title=${t('table.export_rows')}><${Icon} name="download" /></summary>
      <div><button type="button" onClick=${() =>
        save(
          `${id}.csv`,
          csv(
            shown.map((c) => c.title || c.key),
            rows().map(values),
          ),
          'text/csv',
        )}>${t('table.export_csv')}</button>
        <button type="button" onClick=${() => save(`${id}.json`, JSON.stringify(rows(), null, 2), 'application/json')}>${t('table.export_json')}</button></div></details>
  </div>`;
}

function Pages({ source, more }) {
  if (more) {
    if (!more.next) return null;
    return html`<div class="pages"><button type="button" onClick=${more.load} disabled=${more.busy}>${t('table.more')}</button></div>`;
  }
  if (source.pages <= 1 && source.filtered <= 50) return null;
  if (!source.server) return null;
  const { page, pages, size, change } = source;
  return html`<nav class="pages" aria-label=${t('table.pages')}>
    <button type="button" disabled=${page <= 1} onClick=${() => change({ page: page - 1 })} aria-label=${t('table.previous')}><${Icon} name="left" /></button>
    <label>${t('table.page')} <input type="number" min="1" max=${pages} value=${page} onChange=${(e) => change({ page: Math.max(1, Math.min(pages, Number(e.target.value) || 1)) })} /></label>
    <span>${t('table.of', { pages })}</span>
    <button type="button" disabled=${page >= pages} onClick=${() => change({ page: page + 1 })} aria-label=${t('table.next')}><${Icon} name="right" /></button>
    <label>${t('table.per_page')} <select value=${String(size)} onChange=${(e) => change({ size: Number(e.target.value) })}>
      ${[25, 50, 100, 200, 500].map((n) => html`<option value=${n} selected=${n === size}>${n}</option>`)}</select></label>
  </nav>`;
}

// useView says which rows are drawn.
function useView(box, count) {
  const [, again] = useState(0);
  const state = useRef({ top: 0, height: 800, row: 37 });
  const s = state.current;
  useLayoutEffect(() => {
    const row = box.current?.querySelector('tbody tr[data-index]');
    if (row && row.offsetHeight && Math.abs(row.offsetHeight - s.row) > 1) s.row = row.offsetHeight;
    if (box.current) s.height = box.current.clientHeight || 800;
  });
  useEffect(() => {
    if (box.current && count > drawnMax) again((n) => n + 1);
  }, [count > drawnMax]);
  const whole = { first: 0, last: count, before: 0, after: 0 };
  const now = count > drawnMax ? view(count, s.row, s.top, s.height) : whole;
  return {
    ...now,
    onScroll: (e) => {
      if (count <= drawnMax) return;
      s.top = e.target.scrollTop;
      s.height = e.target.clientHeight;
      const next = view(count, s.row, s.top, s.height, 5);
      if (next.first < now.first || next.last > now.last) again((n) => n + 1);
    },
    reveal: (index) => {
      const el = box.current;
      if (!el || count <= drawnMax) return;
      const y = index * s.row;
      if (y < el.scrollTop) el.scrollTop = y;
      if (y > el.scrollTop + el.clientHeight - 2 * s.row) el.scrollTop = y - el.clientHeight + 3 * s.row;
      s.top = el.scrollTop;
      again((n) => n + 1);
    },
  };
}
