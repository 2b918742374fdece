// A button of what the user may do, or may not, or cannot do yet: then it does nothing, and says what is missing.
import { html, useId } from './html.js';
import { announce } from './focus.js';

/** What is read in it where it is not drawn: see textOf. */
Action.says = ({ children }) => children;

// Action: lacks is what is missing, '' if nothing; href makes it a link, onClick a button, type submit the button of a form.
export function Action({ lacks, href, onClick, children, type = 'button', className = '', ...rest }) {
  const id = useId();
  if (!lacks) {
    return href
      ? html`<a class=${`button ${className}`} href=${href} ...${rest}>${children}</a>`
      : html`<button type=${type} class=${className} onClick=${onClick} ...${rest}>${children}</button>`;
  }
  const say = (e) => {
    e.preventDefault(); // also the form, where Enter is a click on its button
    announce(lacks);
  };
  return html`<button type=${type} class=${className} ...${rest} disabled=${false} aria-disabled="true" aria-describedby=${id} title=${lacks} onClick=${say}>${children}<span class="hidden" id=${id} aria-hidden="true">${lacks}</span></button>`;
}
