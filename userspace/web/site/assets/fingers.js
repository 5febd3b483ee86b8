// SPDX-License-Identifier: Apache-2.0
// Fingers on an element: one that moves sideways drags, two zoom, one that rests taps. Ctrl with the wheel zooms too: that is
// how a touch pad reports a pinch. Up and down stay the page's (touch-action: pan-y in style.css).
const SLACK = 8; // pixels: a finger that taps moves a little

// act: drag(pixels to the right), zoom(factor of what is shown, x that stays where it is), tap(event), end() when no finger is left
export function onFingers(element, act) {
  const down = new Map(); // the latest event of each finger
  let isTap = false;

  element.addEventListener('pointerdown', (event) => {
    if (event.pointerType !== 'touch' || down.size === 2) return;
    element.setPointerCapture(event.pointerId); // what it began on may be drawn anew meanwhile
    down.set(event.pointerId, event);
    isTap = down.size === 1;
  });
  element.addEventListener('pointermove', (event) => {
    const before = down.get(event.pointerId);
    if (!before) return;
    if (isTap && Math.hypot(event.clientX - before.clientX, event.clientY - before.clientY) < SLACK) return;
    isTap = false;
    down.set(event.pointerId, event);
    const moved = event.clientX - before.clientX, other = [...down.values()].find((one) => one !== event);
    if (!other) {
      act.drag(moved);
      return;
    }
    const apart = (one) => Math.max(1, Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY));
    act.zoom(apart(before) / apart(event), (before.clientX + other.clientX) / 2);
    act.drag(moved / 2); // the middle between them moves by half
  });
  for (const name of ['pointerup', 'pointercancel']) {
    element.addEventListener(name, (event) => {
      if (!down.delete(event.pointerId)) return;
      if (isTap && name === 'pointerup') act.tap(event);
      isTap = false;
      if (down.size === 0) act.end();
    });
  }
  element.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    act.zoom(event.deltaY < 0 ? 0.8 : 1.25, event.clientX);
    act.end();
  }, { passive: false });
}

export const isHandheld = () => matchMedia('(pointer: coarse)').matches;
