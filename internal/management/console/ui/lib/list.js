// Sources of rows for a Table. Each keeps what is asked for (page, order, filter) in the address, under a prefix if there are
// several on a page, and returns {rows, total, filtered, page, pages, size, sort, reverse, text, loading, error, change, refresh}.
import { untracked, useEffect, useMemo, useState } from './html.js';
import { num } from './i18n.js';
import { api } from './api.js';
import { route, setQuery } from './router.js';
import { useData } from './live.js';
import { folded } from './find.js';
import { isRegex, order, matches } from './order.js';

const sizeUsual = 50;
const shortMax = 500; // rows, the most that the API has on a page

function asked(prefix, usual) {
  const q = route.value.query;
  return {
    page: Math.max(1, Number(q[prefix + 'page']) || 1),
    size: Math.min(500, Number(q[prefix + 'size']) || usual.size || sizeUsual),
    sort: q[prefix + 'sort'] || usual.sort || '',
    reverse: (q[prefix + 'desc'] ?? (usual.reverse ? '1' : '')) === '1',
    text: q[prefix + 'name'] || '',
    regex: q[prefix + 'regex'] === '1',
  };
}

// change alters what is asked for; another filter or order begins at the first page.
function changer(prefix, usual) {
  return (patch) => {
    const out = {};
    for (const [k, v] of Object.entries(patch)) {
      if (k === 'page') out[prefix + 'page'] = v > 1 ? v : '';
      if (k === 'size') out[prefix + 'size'] = v === (usual.size || sizeUsual) ? '' : v;
      if (k === 'sort') out[prefix + 'sort'] = v;
      if (k === 'reverse') out[prefix + 'desc'] = v ? '1' : usual.reverse ? '0' : '';
      if (k === 'text') out[prefix + 'name'] = v;
      if (k === 'regex') out[prefix + 'regex'] = v ? '1' : '';
    }
    if (!('page' in patch)) out[prefix + 'page'] = '';
    setQuery(out);
  };
}

// useServerList asks for one page of a list of the API, which sorts and filters: path as for api.get, '' for nothing yet. query is
// added to what is asked for; usual is {sort, reverse, size}; on are topics. With columns, as of the table, a filter of a short list is for
// what they show; of a long one the broker filters the names, and named says so.
/** @typedef {{query?: object, prefix?: string, usual?: any, on?: string[], every?: number, columns?: object[]}} Listed */
export function useServerList(
  path,
  /** @type {Listed} */ { query = {}, prefix = '', usual = {}, on = [], every = 5000, columns } = {},
) {
  const a = asked(prefix, usual);
  const [all, setAll] = useState(Infinity); // how many rows there are without a filter
  const short = !!columns && all <= shortMax;
  const here = short && a.text !== '';
  const wanted = here
    ? { page: 1, page_size: shortMax }
    : { page: a.page, page_size: a.size, name: folded(a.text), use_regex: a.regex || '' };
  const got = useData(
    (abort) =>
      api.get(
        path,
        {
          ...wanted,
          sort: a.sort,
          sort_reverse: a.reverse || '',
          pagination: 'true',
          ...query,
        },
        { signal: abort },
      ),
    [path, wanted, a.sort, a.reverse, query],
    { on, every, enabled: !!path },
  );
  // A list that became shorter has no such page any more.
  const past = got.error?.kind === 'page_out_of_range';
  if (past && a.page > 1) setQuery({ [prefix + 'page']: '' });
  const refused = a.regex && a.text !== '' && got.error?.status === 400 && !past; // the rows before are of another filter
  const wrong = here ? a.regex && !isRegex(a.text) : refused;
  const d = (!wrong && got.data) || {};
  useEffect(() => {
    if (got.data) setAll(got.data.total_count);
  }, [got.data]);
  const rows = useMemo(
    () => (here ? filtered(d.items || [], columns, a) : d.items || []),
    [d.items, here, a.text, a.regex],
  );
  return {
    ...a,
    rows,
    total: d.total_count ?? 0,
    filtered: here ? rows.length : (d.filtered_count ?? 0),
    pages: here ? 1 : (d.page_count ?? 1),
    server: !here,
    named: !!columns && all > shortMax && all < Infinity,
    known: !!got.data || wrong,
    loading: got.loading,
    error: past || wrong ? null : got.error,
    wrong,
    at: got.at,
    change: changer(prefix, usual),
    refresh: got.refresh,
  };
}

// cell is what a column shows of a row.
export function cell(c, row) {
  if (c.render) return c.render(row);
  const v = c.value ? c.value(row) : row[c.key];
  return typeof v === 'number' ? num(v) : v;
}

// textOf is the text of what a template made. A component that a cell has is called for it: it has no hooks, or says with says(props)
// what is to be read instead.
function textOf(node) {
  if (node === null || node === undefined || typeof node === 'boolean') return '';
  if (Array.isArray(node)) return node.map(textOf).join('');
  if (typeof node !== 'object') return String(node);
  const { type, props } = node;
  if (typeof type !== 'function') return textOf(props?.children);
  return textOf((type.says || type)(props));
}

const read = new WeakMap(); // the text of each row, for who goes on typing

// textOfRow is what a row shows, and the words behind it, which are the same in all languages: a filter is for both.
function textOfRow(columns, row) {
  if (!read.has(row)) {
    const words = columns.map((c) => (c.value ? c.value(row) : row[c.key])).filter((v) => typeof v === 'string');
    const shown = untracked(() => columns.map((c) => textOf(cell(c, row))));
    read.set(row, [...shown, ...words].join(' '));
  }
  return read.get(row);
}

// filtered are the rows that a filter finds.
const filtered = (rows, columns, { text, regex }) =>
  text ? rows.filter((row) => matches(textOfRow(columns, row), text, regex)) : rows;

// useRows sorts and filters rows that are all here: got is what useData returned, or {data: [...]}. They are not paged: the table shows
// what is in view. columns as of the table: the filter is for what they show.
export function useRows(got, columns, { prefix = '', usual = {} } = {}) {
  const a = asked(prefix, usual);
  const all = got.data || [];
  const rows = useMemo(() => {
    const by = columns.find((c) => c.key === a.sort);
    const kept = filtered(all, columns, a);
    return by ? order(kept, (row) => (by.value ? by.value(row) : row[by.key]), a.reverse) : kept;
  }, [all, a.sort, a.reverse, a.text, a.regex]);
  return {
    ...a,
    rows,
    total: all.length,
    filtered: rows.length,
    page: 1,
    pages: 1,
    server: false,
    known: got.data !== undefined,
    loading: got.loading,
    error: got.error,
    wrong: a.regex && !isRegex(a.text),
    at: got.at,
    change: changer(prefix, usual),
    refresh: got.refresh,
  };
}
