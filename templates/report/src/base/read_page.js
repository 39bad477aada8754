/** Where the document comes from: the page itself, or the server it came from. */

/** The embedded document, or null. It may be compressed: type "application/gzip" holds base64 of gzip. */
export async function embeddedDocument() {
  const element = document.getElementById('slipway-view');
  if (!element) return null;
  const words = element.textContent ?? '';
  element.remove();
  return JSON.parse(element.getAttribute('type') === 'application/gzip' ? await unpack(words) : words);
}

async function unpack(words) {
  const packed = Uint8Array.from(atob(words.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).text();
}

export const isLive = () => document.querySelector('meta[name="slipway-live"]') !== null;

/** @param {string[][]} query [name, value] pairs */
export function address(path, query = []) {
  const token = new URLSearchParams(location.search).get('token');
  return `${path}?${new URLSearchParams(token ? [...query, ['token', token]] : query)}`;
}

async function get(path, query) {
  const answer = await fetch(address(path, query), {cache: 'no-store'});
  if (!answer.ok) throw new Error(`${path}: the server answered ${answer.status} ${answer.statusText}`);
  return answer.json();
}

/** All runs, one row each. */
export async function fetchRuns() {
  const answer = await get('api/runs');
  return Array.isArray(answer) ? answer : answer.runs ?? [];
}

/** One document with the runs named, which also says where their specs differ. @param {string[]} ids */
export async function fetchView(ids) {
  return get('api/view', ids.map((id) => ['run', id]));
}

/** Calls `changed(document)` on each change of a run. @returns {() => void} ends it */
export function followRun(run, changed, lost) {
  const source = new EventSource(address('api/changes', [['run', run]]));
  source.addEventListener('view', (event) => {
    lost(false);
    changed(JSON.parse(event.data));
  });
  source.addEventListener('open', () => lost(false));
  source.addEventListener('error', () => lost(true));
  return () => source.close();
}
