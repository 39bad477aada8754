import {fill, h, icon} from '../base/dom.js';
import {theme} from '../base/theme.js';

const MOST_ROWS = 500;

/**
 * A card with a title, controls and a body; charts add their data as a table and can be saved.
 * @param {{title: string, note?: string, controls?: any[], body: any, wide?: boolean, data?: () => {head: string[], rows: any[][]}, surface?: any}} options
 */
export function panel({title, note, controls = [], body, wide = false, data, surface, actions = []}) {
  const words = h('p', {class: 'note', hidden: !note}, note);
  const tools = [...actions, surface && saveButton(surface, title)].filter(Boolean);
  const element = h('div', {class: wide ? 'panel wide' : 'panel', role: 'group', 'aria-label': title},
    h('header', null, h('h3', null, title), h('div', {class: 'controls'}, controls), h('div', {class: 'tools'}, tools)),
    words, body, data && dataTable(title, data));
  return Object.assign(element, {note: (text) => { fill(words, text); words.hidden = !text; }});
}

function saveButton(surface, title) {
  return h('button', {type: 'button', class: 'quiet icon-only', title: 'Save as PNG', 'aria-label': `Save ${title} as PNG`, on: {click: async () => {
    const blob = await surface.picture(theme().card);
    if (!blob) return;
    const address = URL.createObjectURL(blob);
    h('a', {href: address, download: `${title.toLowerCase().replace(/[^a-z0-9]+/g, '-')}.png`}).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }}}, icon('image'));
}

/** The button that undoes the zoom of a chart; shown while there is one. @param {any} chart with `setZoom` and `options.zoomed` */
export function resetButton(chart) {
  const button = h('button', {type: 'button', class: 'quiet icon-only', hidden: true, title: 'Reset zoom', 'aria-label': 'Reset zoom', on: {click: () => chart.setZoom(null)}}, icon('reset'));
  chart.options.zoomed = (isZoomed) => { button.hidden = !isZoomed; };
  return button;
}

/** What may be larger than its place: it scrolls, by keys too. */
export function scrollArea(label, ...children) {
  return h('div', {class: 'scroll', tabindex: '0', role: 'group', 'aria-label': label}, children);
}

/** The text alternative: made when it is opened. */
function dataTable(title, data) {
  const body = scrollArea(`Data of ${title}`);
  const details = h('details', {class: 'data', on: {toggle: () => details.open && show()}}, h('summary', null, 'Data as a table'), body);
  const show = () => {
    const {head, rows} = data();
    fill(body, plainTable(head, rows.slice(0, MOST_ROWS)),
      rows.length > MOST_ROWS && h('p', {class: 'note'}, `The first ${MOST_ROWS} of ${rows.length} rows.`));
  };
  return details;
}

/** A table of texts; numbers stand right. @param {any[][]} rows */
export function plainTable(head, rows, caption) {
  const isNumber = (value) => /^[−-]?[\d,.]+(e-?\d+)?( ?(%|s|ms|µs|B|[KMGTP]iB|min|h).*)?$/.test(value);
  const fits = (value) => !(value instanceof Node) && (isNumber(String(value)) || value === '–');
  const right = head.map((_, i) => rows.every((row) => fits(row[i])) && rows.some((row) => row[i] !== '–'));
  const isMoment = (value) => /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(value);
  const cell = (value, i) => h('td', {class: right[i] ? 'num' : isMoment(value) ? 'moment' : null}, value);
  return h('table', {class: 'plain'}, caption && h('caption', null, caption),
    h('thead', null, h('tr', null, head.map((name, i) => h('th', {scope: 'col', class: right[i] ? 'num' : null}, name)))),
    h('tbody', null, rows.map((row) => h('tr', null, row.map(cell)))));
}
