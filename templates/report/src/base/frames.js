/** Work once a frame: however often something asks, it is done at most once before the next paint. */

const waiting = new Set();
let asked = 0;

/** @param {() => void} work the same function is called once a frame */
export function nextFrame(work) {
  waiting.add(work);
  if (!asked) asked = requestAnimationFrame(run);
}

function run() {
  asked = 0;
  const now = [...waiting];
  waiting.clear();
  for (const work of now) work();
}
