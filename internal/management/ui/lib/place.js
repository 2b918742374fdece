// Where the console is: behind which prefix, and where its files are.
const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? '';

export const prefix = meta('bartleby-prefix');
export const assets = meta('bartleby-assets');
