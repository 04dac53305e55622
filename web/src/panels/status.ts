/** The state of the connection in words: in the page's head, and over the map while the map is not the present. */

import { part } from "../dom";
import { formatDuration } from "../format";
import type { LinkState } from "../net/link";

export class StatusPanel {
  private readonly root = document.documentElement;
  private readonly text = part("link-text", HTMLElement);
  private readonly countdown = part("link-countdown", HTMLElement);
  private readonly retry = part("link-retry", HTMLButtonElement);
  private readonly notice = part("map-notice", HTMLElement);
  private state: LinkState = { kind: "connecting" };
  /** Time of the last message of a live connection, as far as it is known. */
  private liveUntil: number | undefined;

  constructor(onRetry: () => void) {
    this.retry.addEventListener("click", onRetry);
    this.setState(this.state);
  }

  setState(state: LinkState): void {
    if (this.state.kind === "live") {
      this.liveUntil = state.kind === "stalled" ? state.heardAt : Date.now();
    }
    this.state = state;
    // Style sheet and tests read the state here.
    this.root.dataset["link"] = state.kind;
    this.text.textContent = LABELS[state.kind];
    this.retry.hidden = state.kind !== "waiting";
    this.refresh();
  }

  /** Brings counted seconds up to date. Their element is not announced to screen readers; the state is. */
  refresh(): void {
    const { state } = this;
    const now = Date.now();
    this.countdown.textContent =
      state.kind === "waiting" ? `next try in ${Math.max(0, Math.ceil((state.retryAt - now) / 1_000))} s` : "";
    if (state.kind === "live") {
      this.notice.hidden = true;
      return;
    }
    this.notice.hidden = false;
    this.notice.textContent =
      this.liveUntil === undefined
        ? NOTICES[state.kind]
        : `This is how it was ${formatDuration((now - this.liveUntil) / 1_000)} ago.`;
  }
}

const LABELS = {
  connecting: "Connecting…",
  live: "Live",
  stalled: "Server is silent",
  waiting: "Disconnected",
} as const;

const NOTICES = {
  connecting: "Waiting for the server…",
  stalled: "Waiting for the server…",
  waiting: "The server cannot be reached.",
} as const;
