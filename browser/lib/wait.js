// Waiting for what happens, and never for time to go by.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where the suite leaves what it made: logs, pictures of what failed. */
export const build = join(dirname(fileURLToPath(import.meta.url)), '../../build/browser');
/** Where it leaves a picture of each page. */
export const screenshots = join(build, '../screenshots');

/** How long anything may take on a busy machine, unless it says otherwise. */
export const patience = 15_000;

/** Fails with the words given unless the promise settles in time. */
export async function within(millis, words, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${millis} ms for ${words}`)), millis);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Asks again until the answer is true; what it was last is in the error. */
export async function until(words, ask, millis = patience) {
  const end = Date.now() + millis;
  for (;;) {
    const answer = await ask();
    if (answer === true) return;
    if (Date.now() > end) throw new Error(`waited ${millis} ms for ${words}; last: ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
