// The settings of queues and exchanges, as the broker describes them. Pages that need them are loaded by knowing. Pure.

let all = [];
let byName = new Map();

// know takes the response of GET /api/x/settings.
export function know(list) {
  all = list;
  byName = new Map(list.map((s) => [s.name, s]));
}

// setting is the description of a setting: {name, argument, set_by, applies_to, kind, min, max, choices, wins, …}.
export const setting = (name) => byName.get(name);

// fieldsOf lists the settings that a form has fields for. by is who sets them: argument, policy, operator policy.
export const fieldsOf = (by, fits = (_) => true) => all.filter((s) => !s.inert && s.set_by.includes(by) && fits(s));
