// Checks the modules of the console and of this directory: their form with prettier, their types with the TypeScript
// compiler, which reads JSDoc. Ends with "N passed, N failed", and not with 0 if a file has failed.
//
//   check.js          checks
//   check.js --write  gives the files the form that prettier wants, then checks
//
// browser/deps.sh modules installs both tools, as package-lock.json pins them.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const tools = await Promise.all([import('prettier'), import('typescript')]).catch((error) => {
  console.log(`prettier or typescript is missing: browser/deps.sh modules installs them (${error.message})`);
  console.log('0 passed, 1 failed');
  process.exit(1);
});
const [prettier, { default: ts }] = tools;

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);

// ui is where the console's modules are.
const ui = join(root, 'internal/management/console/ui');

// style is what prettier is told; templates of html`` stay as they are written.
/** @type {import('prettier').Options} */
const style = { printWidth: 120, singleQuote: true, embeddedLanguageFormatting: 'off', parser: 'babel' };

/** @type {import('typescript').CompilerOptions} */
const options = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  types: ['node'],
  typeRoots: [join(here, 'node_modules/@types')],
  allowJs: true,
  checkJs: true,
  noEmit: true,
  skipLibCheck: true,
};

// modules returns the modules below a directory, without those that are kept as they were fetched.
function modules(directory) {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return ['node_modules', 'vendor'].includes(entry.name) ? [] : modules(path);
    return /\.m?js$/.test(entry.name) ? [path] : [];
  });
}

const files = [...modules(here), ...modules(ui)];
/** @type {Map<string, string[]>} */
const faults = new Map(files.map((file) => [file, []]));

for (const file of files) {
  const text = readFileSync(file, 'utf8');
  const wanted = await prettier.format(text, style);
  if (wanted === text) continue;
  if (process.argv.includes('--write')) writeFileSync(file, wanted);
  else faults.get(file).push('is not formatted: node browser/check.js --write');
}

const program = ts.createProgram(files, options);
for (const found of ts.getPreEmitDiagnostics(program)) {
  const where = found.file && ts.getLineAndCharacterOfPosition(found.file, found.start);
  const text = ts.flattenDiagnosticMessageText(found.messageText, '\n    ');
  if (!found.file) faults.set(text, [text]);
  else faults.get(found.file.fileName)?.push(`${where.line + 1}:${where.character + 1}: ${text}`); // not of others' modules
}

let failed = 0;
for (const [file, found] of faults) {
  if (found.length) failed++;
  for (const fault of found) console.log(`not ok ${relative(root, file)}: ${fault}`);
}
console.log(`${faults.size - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 && files.length > 0 ? 0 : 1;
