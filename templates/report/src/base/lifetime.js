/** What a page listens to on the window ends when the reader leaves the page. */

let current = new AbortController();

/** Calls `handler` on events of the window until the page is left. */
export function whileOpen(event, handler) {
  addEventListener(event, handler, {signal: current.signal});
}

export function leavePage() {
  current.abort();
  current = new AbortController();
}
