// Where the console is: behind which prefix, and where its files are.
export const meta = (name, page = document) =>
  page.querySelector(`meta[name="${name}"]`)?.getAttribute('content') ?? '';

export const prefix = meta('bartleby-prefix');
export const assets = meta('bartleby-assets');
export const icon = document.querySelector('link[rel=icon]')?.getAttribute('href') ?? '';
