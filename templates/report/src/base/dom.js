/** Elements without a framework. Data only ever becomes text: nothing here parses HTML. */

/** Characters that are invisible or turn the direction of text: shown as escapes. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Makes hidden characters of `value` visible. @param {unknown} value @returns {string} */
export function plain(value) {
  return String(value).replace(HIDDEN, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
}

/** Shortens long text in the middle. @param {unknown} value */
export function brief(value, most = 80) {
  const text = plain(value);
  if (text.length <= most) return text;
  const half = Math.floor((most - 1) / 2);
  return text.slice(0, half) + '…' + text.slice(text.length - half);
}

/**
 * An element: h('p', {class: 'x', on: {click}}, 'text', child). Null children and attributes are left out.
 * @param {string} name @param {Record<string, any>|null} [attributes] @returns {HTMLElement}
 */
export function h(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value == null || value === false) continue;
    if (key === 'on') listen(element, value);
    else if (key === 'style') Object.assign(element.style, value);
    else if (key === 'value' || key === 'checked' || key === 'disabled') element[key] = value;
    else element.setAttribute(key, value === true ? '' : plain(value));
  }
  element.append(...nodes(children));
  return element;
}

function listen(element, handlers) {
  for (const [event, handler] of Object.entries(handlers)) element.addEventListener(event, handler);
}

function nodes(children) {
  return children.flat(3).filter((child) => child != null && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(plain(child))));
}

/** Replaces the children of `element`. */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

const SVG = 'http://www.w3.org/2000/svg';

/** An SVG element. @param {Record<string, any>} [attributes] @returns {SVGElement} */
function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...nodes(children));
  return element;
}

/** Line icons on a grid of 16. */
const ICONS = {
  check: 'M3 8.5l3.2 3.2L13 4.8',
  cross: 'M4 4l8 8M12 4l-8 8',
  play: 'M5 3.5l7 4.5-7 4.5z',
  clock: 'M8 2.2a5.8 5.8 0 1 0 .01 0M8 5v3.2l2.2 1.5',
  stop: 'M4 4h8v8H4z',
  down: 'M8 3v9M4.5 8.5L8 12l3.5-3.5',
  question: 'M6 6a2 2 0 1 1 2.8 1.8c-.6.3-.8.7-.8 1.4M8 12v.3',
  moon: 'M12.8 9.8A5.5 5.5 0 0 1 6.2 3.2a5.5 5.5 0 1 0 6.6 6.6z',
  copy: 'M6 6h7v7H6zM10 6V3H3v7h3',
  image: 'M2.5 3.5h11v9h-11zM3 11l3-3 2.5 2.5L11 8l2.5 2.5',
  reset: 'M3 8a5 5 0 1 0 1.6-3.7M3 2.5V5h2.5',
  dash: 'M4 8h8',
};

/** @param {keyof typeof ICONS} name */
export function icon(name) {
  return svg('svg', {viewBox: '0 0 16 16', width: 14, height: 14, class: 'icon', 'aria-hidden': 'true'},
    svg('path', {d: ICONS[name], fill: 'none', stroke: 'currentColor', 'stroke-width': 1.7,
      'stroke-linecap': 'round', 'stroke-linejoin': 'round'}));
}

/** A <select> of [value, text] pairs. @param {string} label @param {(value: string) => void} change */
export function choice(label, options, value, change) {
  const select = h('select', {'aria-label': label, on: {change: () => change(select.value)}},
    options.map(([key, text]) => h('option', {value: key}, brief(text, 48))));
  select.value = value;
  return select;
}

/** A small on/off button. @param {(isOn: boolean) => void} change */
export function toggle(text, isOn, change, title = '') {
  const button = h('button', {type: 'button', class: 'toggle', 'aria-pressed': String(isOn), title,
    on: {click: () => {
      const on = button.getAttribute('aria-pressed') !== 'true';
      button.setAttribute('aria-pressed', String(on));
      change(on);
    }}}, text);
  return button;
}

/** Copies `text`; says so on the button. The page may have no clipboard on file://. */
export function copyButton(text, label = 'Copy') {
  const words = h('span', null, label);
  const done = (message) => {
    words.textContent = message;
    setTimeout(() => { words.textContent = label; }, 1500);
  };
  return h('button', {type: 'button', class: 'quiet', on: {click: () => copy(text).then(() => done('Copied'),
    () => done('Press Ctrl+C'))}}, icon('copy'), words);
}

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = h('textarea', {class: 'offscreen', value: text});
  document.body.append(area);
  area.select();
  const ok = document.execCommand('copy');
  area.remove();
  if (!ok) throw new Error('no clipboard');
}

/** Tells screen readers. */
export function announce(text) {
  let live = document.getElementById('announcer');
  if (!live) {
    live = h('div', {id: 'announcer', class: 'offscreen', 'aria-live': 'polite', role: 'status'});
    document.body.append(live);
  }
  live.textContent = text;
}
