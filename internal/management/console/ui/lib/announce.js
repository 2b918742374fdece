// Says to those who hear the page what others see happen in it. The frame and the dialog on top have the words (layers.js).
import { signal } from './html.js';

export const announced = signal('');
const stays = 6000; // ms until what was announced is taken out again, since it is read as a part of the page, too
let saying; // what comes next: the announcement, or its end

export function announce(text) {
  clearTimeout(saying);
  announced.value = '';
  saying = setTimeout(() => {
    announced.value = text;
    saying = setTimeout(() => {
      announced.value = '';
    }, stays);
  }, 100);
}
