// Commands as lists of words, and how each shell wants them typed. Pure.

const plain = /^[\w@:,./-]+$/;

// sh quotes a word for POSIX shells.
export const sh = (word) => (plain.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

// cmd quotes a word for cmd.exe, twice. First for the program, which divides the line into words itself: to it \" is a
// quotation mark that is part of the word. Then for cmd.exe, which does not know \": to it each quotation mark begins or
// ends a quotation, and outside of quotations ^ takes the meaning of a character. % has a meaning in quotations too.
export function cmd(word) {
  if (plain.test(word)) return word;
  const forProgram = `"${word.replace(/(\\*)("|$)/g, (_, slashes, mark) => slashes + slashes + (mark && '\\"'))}"`;
  const percents = word.includes('%'); // then no quotation may begin for cmd.exe
  let [typed, quoted, before] = ['', false, ''];
  for (const c of forProgram) {
    if ((!quoted && /[&|<>()^%!]/.test(c)) || (percents && (c === '"' || before === '%'))) typed += '^';
    typed += c;
    if (c === '"' && !percents) quoted = !quoted;
    before = c;
  }
  return typed;
}

// typed is a command as it is typed: {linux, windows}, by the names of shells. Lists in the list are lines of their own. cmd.exe takes no
// word of several lines: windows is '' then.
/** @param {(string | string[])[]} words */
export function typed(words) {
  const line = (quote, continued) =>
    words.map((w) => (Array.isArray(w) ? `${continued}\n  ${w.map(quote).join(' ')}` : quote(w))).join(' ');
  return { linux: line(sh, '\\'), windows: words.flat().some((w) => /[\r\n]/.test(w)) ? '' : line(cmd, '^') };
}

// ctl is a command of bartleby ctl: its name, arguments, options.
/** @param {string[]} args @param {string[]} options */
export function ctl(name, args = [], options = []) {
  const words = args.some((a) => a.startsWith('-')) ? [...options, '--', ...args] : [...args, ...options];
  return ['bartleby', 'ctl', ...name.split(' '), ...words];
}

const usualBases = ['http://localhost:15672', 'http://127.0.0.1:15672'];

// toBroker adds to a command of bartleby ctl where the broker is, which is at {base}, unless it looks there by itself. Other commands stay as
// they are.
/** @param {(string | string[])[]} words */
export function toBroker(words, { base }) {
  const [tool, verb, ...rest] = words;
  if (tool !== 'bartleby' || verb !== 'ctl' || usualBases.includes(base)) return words;
  return [tool, verb, '--node', base, ...rest];
}

// inVHost is the option that names a virtual host, unless it is the default one.
export const inVHost = (vhost) => (vhost === '/' ? [] : ['--vhost', vhost]);

// curl is a request to the HTTP API at {base, user}; curl asks for the password, unless it is that of guest. A body is JSON, or in a file
// whose name is given as {file}.
export function curl(at, method, path, body) {
  const words = ['curl', '-u', at.user === 'guest' ? 'guest:guest' : at.user];
  if (method !== (body === undefined ? 'GET' : 'POST')) words.push('-X', method);
  return [...words, `${at.base}/api/${path}`, ...(body === undefined ? [] : [bodyOf(body)])];
}

const bodyOf = (body) => (body.file ? ['--data-binary', `@${body.file}`] : ['-d', JSON.stringify(body)]);
