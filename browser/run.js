// Runs the specs against the real binary and the real browser. Ends with "N passed, N failed", and not with 0 if one failed.
//
//   run.js [BINARY [SPEC...]]    BINARY is build/bartleby unless named, a spec a file of specs/ without .spec.js
//
// CHROMIUM is the browser, /usr/bin/chromium-headless-shell unless named. browser/deps.sh installs what is needed. Logs and pictures of what
// failed are in build/browser, pictures of the pages in build/screenshots.
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from 'node:test';
import { build } from './lib/wait.js';

const here = dirname(fileURLToPath(import.meta.url));
const [binary = join(here, '../build/bartleby'), ...names] = process.argv.slice(2);
process.env.BARTLEBY = resolve(binary);
const specs = names.length
  ? names.map((n) => `${n}.spec.js`)
  : readdirSync(join(here, 'specs'))
      .filter((f) => f.endsWith('.spec.js'))
      .sort();

let passed = 0;
let failed = 0;

// A file that ends well is no test; one that ends badly by itself has failed.
function report(kind, { name, nesting, details }) {
  const ofFile = nesting === 0 && specs.some((s) => name.endsWith(s));
  if (details?.type === 'suite' || (ofFile && kind === 'ok')) return;
  const cause = details?.error?.cause || details?.error;
  if (ofFile && failed > 0 && /test(s)? failed|subtest/.test(String(cause?.message || cause))) return;
  if (kind === 'ok') passed++;
  else failed++;
  console.log(`${kind} ${name} (${((details?.duration_ms || 0) / 1000).toFixed(1)}s)`);
  if (kind !== 'ok') console.log(String(cause?.stack || cause?.message || cause).replace(/^/gm, '    '));
}

if (!existsSync(binary)) {
  console.log(`${binary} is not there; make build makes build/bartleby`);
  console.log('0 passed, 1 failed');
  process.exit(1);
}
mkdirSync(build, { recursive: true });
const stream = run({ files: specs.map((s) => join(here, 'specs', s)), concurrency: 3, timeout: 600_000 });
stream.on('test:pass', (t) => report('ok', t));
stream.on('test:fail', (t) => report('not ok', t));
stream.on('test:diagnostic', ({ message }) => {
  if (!/^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) /.test(message)) console.log(`    ${message}`);
});
stream.on('test:stdout', ({ message }) => process.stdout.write(message));
stream.on('test:stderr', ({ message }) => process.stderr.write(message));
stream.on('end', () => {
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
});
stream.resume();
