// Stretches of a calendar, in the time of the browser. Pure.

// grid lists the stretches of a view around an instant: the days of a month in whole weeks from Monday, the hours of a day,
// the minutes of an hour by fives. Each is {from, until, outside} in ms.
export function grid(view, at) {
  const d = new Date(at);
  if (view === 'month') {
    const first = new Date(d.getFullYear(), d.getMonth(), 1);
    const lead = (first.getDay() + 6) % 7;
    const days = new Date(d.getFullYear(), d.getMonth() + 1, 0).getDate();
    const cells = Math.ceil((lead + days) / 7) * 7;
    return Array.from({ length: cells }, (_, i) => {
      const day = new Date(d.getFullYear(), d.getMonth(), 1 - lead + i);
      return {
        from: day.getTime(),
        until: new Date(day.getFullYear(), day.getMonth(), day.getDate() + 1).getTime(),
        outside: day.getMonth() !== d.getMonth(),
      };
    });
  }
  if (view === 'day') {
    const start = new Date(d.getFullYear(), d.getMonth(), d.getDate());
    const end = new Date(d.getFullYear(), d.getMonth(), d.getDate() + 1).getTime();
    const out = [];
    for (let from = start.getTime(); from < end; from += 36e5)
      out.push({ from, until: Math.min(end, from + 36e5), outside: false });
    return out;
  }
  const start = Math.floor(at / 36e5) * 36e5;
  return Array.from({ length: 12 }, (_, i) => ({
    from: start + i * 3e5,
    until: start + (i + 1) * 3e5,
    outside: false,
  }));
}

// inside are the cells of a grid that belong to its view, and range is from where until where they are.
export const inside = (cells) => cells.filter((c) => !c.outside);
export function range(cells) {
  const own = inside(cells);
  return { from: own[0].from, until: own.at(-1).until };
}

const divisor = (a, b) => (b === 0 ? a : divisor(b, a % b));

// bucket is the length of time, in ms, of which each of the cells is a multiple: a day has 23 hours when the clocks change.
export const bucket = (cells) => inside(cells).reduce((all, c) => divisor(all, c.until - c.from), 0);

// step is the view's instant one view later, or earlier with by = -1.
export function step(view, at, by) {
  const d = new Date(at);
  if (view === 'month') return new Date(d.getFullYear(), d.getMonth() + by, 1).getTime();
  if (view === 'day') return new Date(d.getFullYear(), d.getMonth(), d.getDate() + by).getTime();
  return at + by * 36e5;
}

// count adds up what is due in each cell; due are {from_ms, messages}.
export function count(cells, due) {
  const counts = cells.map(() => 0);
  let i = 0;
  for (const { from_ms: at, messages } of due) {
    while (i < cells.length && cells[i].until <= at) i++;
    if (i < cells.length && at >= cells[i].from) counts[i] += messages;
  }
  return counts;
}

// heat is a step from 0 to 4 of a count among others.
export function heat(n, most) {
  if (n === 0) return 0;
  return Math.max(1, Math.min(4, Math.ceil((4 * Math.log(n + 1)) / Math.log(Math.max(most, 3) + 1))));
}
