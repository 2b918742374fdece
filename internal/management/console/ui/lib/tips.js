// Shows the title of what the keyboard has reached, as the pointer has it shown: buttons with an icon alone, badges, what is missing
// for an action. A title is the name or the description of its element already: nobody hears it twice.
export function startTips() {
  const tip = document.createElement('div');
  tip.className = 'tip';
  tip.setAttribute('aria-hidden', 'true');
  tip.setAttribute('popover', 'manual');
  document.body.append(tip);
  const hide = () => tip.matches(':popover-open') && tip.hidePopover();
  const show = (at, text) => {
    tip.textContent = text;
    tip.showPopover();
    place(tip, at.getBoundingClientRect());
  };
  addEventListener('focusin', (e) => {
    hide();
    const at = /** @type {HTMLElement} */ (e.target);
    const text = at.getAttribute('title') || at.dataset.tip;
    if (text && at.matches(':focus-visible')) show(at, text);
  });
  // A finger cannot rest on badges: a tap shows what they mean.
  addEventListener('click', (e) => {
    const at = /** @type {HTMLElement} */ (e.target).closest?.('.badges[data-tip]');
    if (at instanceof HTMLElement && !tip.matches(':popover-open')) show(at, at.dataset.tip);
  });
  addEventListener('focusout', hide);
  addEventListener('toggle', (e) => e.target !== tip && hide(), true); // of a menu, which opens where the tip is
  addEventListener('pointerdown', hide);
  addEventListener('scroll', hide, { capture: true, passive: true });
  addEventListener('keydown', (e) => e.key === 'Escape' && hide(), true);
}

const gap = 6;

// place puts the tip below what it is about, or above it where there is no space, and into the window.
function place(tip, of) {
  const { width, height } = tip.getBoundingClientRect();
  const below = of.bottom + gap;
  tip.style.top = `${below + height <= innerHeight ? below : Math.max(0, of.top - gap - height)}px`;
  tip.style.left = `${Math.max(gap, Math.min(of.left, innerWidth - width - gap))}px`;
}
