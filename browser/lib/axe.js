// axe-core in the page that is shown.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** What axe holds against the page, as lines: "serious color-contrast: .faint …". Only what is serious or critical. */
export async function findings(page) {
  await page.evaluate(source);
  const { violations } = await page.evaluate((values) => window.axe.run(document, { runOnly: { type: 'tag', values } }), tags);
  return violations
    .filter((v) => v.impact === 'serious' || v.impact === 'critical')
    .map((v) => `${v.impact} ${v.id}: ${v.nodes.slice(0, 4).map((n) => `${n.target.join(' ')} (${n.any[0]?.message || n.all[0]?.message || n.none[0]?.message || ''})`).join('; ')}${v.nodes.length > 4 ? ` and ${v.nodes.length - 4} more` : ''}`);
}
