// Light, dark, or as the system has it.
import { pref } from './store.js';

export const themes = ['auto', 'light', 'dark'];
export const theme = pref('theme', 'auto');
export const density = pref('density', 'normal');
export const shortcutsOn = pref('shortcuts', true);

export function startTheme() {
  theme.subscribe((name) => {
    document.documentElement.dataset.theme = name === 'auto' ? '' : name;
  });
  density.subscribe((name) => {
    document.documentElement.dataset.density = name;
  });
}

export function nextTheme() {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length];
}

// dark tells whether it is dark now.
export const dark = () =>
  theme.value === 'dark' || (theme.value === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
