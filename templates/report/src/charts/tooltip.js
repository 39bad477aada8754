import {brief, fill, h} from '../base/dom.js';

let box = null;

/** Shows lines of [name, value] beside a place in the window; the first line is the title. */
export function showTip(title, lines, clientX, clientY, colour = null) {
  if (!box) {
    box = h('div', {class: 'tip', 'aria-hidden': 'true'});
    document.body.append(box);
  }
  fill(box, h('div', {class: 'tip-title'}, colour && h('span', {class: 'dot', style: {background: colour}}), brief(title, 60)),
    lines.length ? h('dl', null, lines.map(([name, value]) => [h('dt', null, brief(name, 40)), h('dd', null, brief(value, 60))])) : null);
  box.hidden = false;
  const width = box.offsetWidth, height = box.offsetHeight;
  const left = clientX + 14 + width > innerWidth ? clientX - width - 14 : clientX + 14;
  box.style.left = `${Math.max(4, left)}px`;
  box.style.top = `${Math.max(4, Math.min(clientY + 12, innerHeight - height - 4))}px`;
}

export function hideTip() {
  if (box) box.hidden = true;
}
