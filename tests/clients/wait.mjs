// Waiting for what clients see: conditions that are looked at again whenever any client received something.
//
// Nothing here sleeps to let something happen. `pulse()` is called by client.mjs after every packet and event;
// `until` re-evaluates its condition on each pulse and fails at its deadline with a message that says what was missing.

const waiting = new Set();

/** Deadlines are generous because they only matter for failures; a lossy network uses most of them. */
export const DEADLINE_MS = 60_000;

/** Tells every `until` that the observable state may have changed. */
export function pulse() {
  for (const look of [...waiting]) look();
}

/**
 * Resolves with the first truthy value of `condition`.
 * @param {string} what names the wait in the failure message
 * @param {() => any} condition cheap and free of side effects; an exception inside it fails the wait
 * @param {{deadlineMs?: number, describe?: () => string}} [options] `describe` adds the state found at the deadline
 */
export function until(what, condition, { deadlineMs = DEADLINE_MS, describe } = {}) {
  return new Promise((resolve, reject) => {
    const finish = (settle, value) => {
      waiting.delete(look);
      clearTimeout(timer);
      settle(value);
    };
    const look = () => {
      try {
        const value = condition();
        if (value) finish(resolve, value);
      } catch (error) {
        finish(reject, error);
      }
    };
    const timer = setTimeout(() => {
      const state = describe ? `: ${describe()}` : '';
      finish(reject, new Error(`not within ${deadlineMs} ms: ${what}${state}`));
    }, deadlineMs);
    waiting.add(look);
    look();
  });
}

/**
 * Resolves when `condition` has stayed true for `quietMs` without interruption; a pulse that finds it false starts anew.
 * Used where the claim itself is about time ("it stays where it stopped").
 */
export function staysTrue(what, condition, quietMs, { deadlineMs = DEADLINE_MS, describe } = {}) {
  let since = null;
  const ticker = setInterval(pulse, 100);
  return until(
    `${what} for ${quietMs} ms`,
    () => {
      if (!condition()) since = null;
      else since ??= performance.now();
      return since !== null && performance.now() - since >= quietMs;
    },
    { deadlineMs, describe },
  ).finally(() => clearInterval(ticker));
}

/** The outcome of `promise`, or a failure that names it once `deadlineMs` have passed. */
export async function within(what, promise, deadlineMs = DEADLINE_MS) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${deadlineMs} ms: ${what}`)), deadlineMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
