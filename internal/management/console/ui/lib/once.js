// A form or a button does one thing at a time: a double click, or Enter pressed twice or held, is one.

const pause = 300; // ms within which a form that is sent again without a change was to be sent once
const going = new WeakSet(); // the forms and buttons whose deed is not done
const sent = { form: null, at: 0 };
globalThis.addEventListener?.('input', () => Object.assign(sent, { form: null }), true);

// repeats tells whether the same form was just sent.
function repeats(form) {
  const before = sent.form === form ? sent.at : -Infinity;
  Object.assign(sent, { form, at: performance.now() });
  return sent.at - before < pause;
}

// once makes of a handler one that does nothing until what it began before for the same element, a promise, is done.
export const once = (act) => (e) => {
  const at = e.currentTarget;
  const again = e.type === 'submit' && repeats(at);
  if (again || going.has(at)) return e.preventDefault();
  const done = act(e);
  if (typeof done?.then !== 'function') return undefined;
  going.add(at);
  return Promise.resolve(done).finally(() => going.delete(at));
};
