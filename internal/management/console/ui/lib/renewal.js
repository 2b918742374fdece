// A broker that was upgraded has another console: the files of the one that is open are not there any more.
import { assets, meta, prefix } from './place.js';
import { note, noted } from './store.js';

// renewed asks, when a part of the console did not come, whether the broker has another console by now, and then loads that; but once
// only, should something in between keep the old page. It tells whether the page goes.
export async function renewed() {
  const there = await served();
  if (!there || there === assets || noted('renewed') === there) return false;
  if (!note('renewed', there)) return false; // it could go on for ever
  location.reload();
  return true;
}

// served is where the broker has its files now, '' if it does not say.
async function served() {
  try {
    const answer = await fetch(`${prefix}/`, { headers: { Accept: 'text/html' }, cache: 'no-store' });
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    return meta('bartleby-assets', page);
  } catch {
    return '';
  }
}
