// axe-core in the page that is shown.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** What axe holds against the page, as lines: "serious color-contrast: .faint …"; with rule, by this one alone. */
export async function findings(page, rule) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(source);
  const runOnly = rule ? { type: 'rule', values: [rule] } : { type: 'tag', values: tags };
  const { violations } = await page.evaluate(
    (only) => /** @type {any} */ (window).axe.run(document, { runOnly: only, resultTypes: ['violations'] }),
    runOnly,
  );
  return violations.map(
    (v) =>
      `${v.impact} ${v.id}: ${v.nodes
        .slice(0, 4)
        .map((n) => `${n.target.join(' ')} (${n.any[0]?.message || n.all[0]?.message || n.none[0]?.message || ''})`)
        .join('; ')}${v.nodes.length > 4 ? ` and ${v.nodes.length - 4} more` : ''}`,
  );
}
