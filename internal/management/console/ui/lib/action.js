// A button of what the user may do, or may not: then it does nothing, and says what is missing.
import { html, useId } from './html.js';

// Action: lacks is what is missing, '' if nothing; href makes it a link, onClick a button.
export function Action({ lacks, href, onClick, children, className = '', ...rest }) {
  const id = useId();
  if (!lacks) {
    return href
      ? html`<a class=${`button ${className}`} href=${href} ...${rest}>${children}</a>`
      : html`<button type="button" class=${className} onClick=${onClick} ...${rest}>${children}</button>`;
  }
  return html`<button type="button" class=${className} ...${rest} disabled=${false} aria-disabled="true" aria-describedby=${id} title=${lacks}>${children}<span class="hidden" id=${id} aria-hidden="true">${lacks}</span></button>`;
}
