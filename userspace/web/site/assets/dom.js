// SPDX-License-Identifier: Apache-2.0
// Elements without markup: what a workload named becomes text or an attribute's value, never HTML.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  append(element, children);
  return element;
}

export function append(element, children) {
  for (const child of [children].flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

// A sentence in which `names` stand in the marks of Markdown.
export const marked = (text) => String(text).split('`').map((part, i) => (i % 2 ? h('code', {}, part) : part));
export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

export function section(title, ...children) {
  const content = children.flat(3).filter((child) => child);
  return content.length ? h('section', {}, h('h2', {}, title), content) : null;
}

// columns: [{name, number?, head?, cell(row)}]; a head names its row.
export function table(caption, columns, rows) {
  return h('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': caption },
    h('table', {}, h('caption', { class: 'unseen' }, caption),
      h('thead', {}, h('tr', {}, columns.map((c) => h('th', { scope: 'col', class: c.number && 'number' }, c.name)))),
      h('tbody', {}, rows.map((row) => h('tr', {}, columns.map((c) => (c.head ? h('th', { scope: 'row' }, c.cell(row))
        : h('td', { class: c.number && 'number', 'data-name': c.name }, c.cell(row)))))))));
}

// A command to copy; the button says what happened.
export function command(text) {
  const button = h('button', { type: 'button', 'aria-label': `Copy: ${text}` }, 'Copy');
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = 'Copied';
    } catch {
      button.textContent = 'Select it';
      window.getSelection().selectAllChildren(code);
    }
  });
  const code = h('code', {}, text);
  return h('div', { class: 'command' }, code, button);
}

export function show(title, ...children) {
  document.title = `${title} · oomwitness`;
  const main = document.getElementById('main');
  main.replaceChildren();
  append(main, children);
  main.dataset.ready = 'yes';
}

// Puts elements in the place of those of before; the focus stays on the one that has the same data-key, or id.
export function renew(place, elements) {
  const focused = place.contains(document.activeElement) ? document.activeElement : null;
  place.replaceChildren(...elements);
  const same = focused && [...place.querySelectorAll('button, select')].find((e) => (focused.id ? e.id === focused.id : focused.dataset.key && e.dataset.key === focused.dataset.key));
  if (same) same.focus();
}

export function failure(error) {
  return h('p', { role: 'alert', class: 'error' }, error.message || String(error));
}
