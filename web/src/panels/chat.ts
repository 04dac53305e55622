/** Public chat as it happens: the last lines, following the newest unless the reader scrolled back. */

import { part, textElement } from "../dom";
import type { Chat } from "../net/protocol";

/** Lines that are kept, in the document and waiting for it; when full, the oldest go. */
export const LINES_MAX = 200;
/** Closer to the end than this counts as being there. */
const AT_END_PX = 24;

const VERBS = { whisper: "whispers", say: "", shout: "shouts" } as const;

export class ChatPanel {
  private readonly log = part("chat-log", HTMLElement);
  private readonly empty = part("chat-empty", HTMLElement);
  private readonly newest = part("chat-newest", HTMLButtonElement);
  private waiting: HTMLElement[] = [];

  constructor() {
    this.newest.addEventListener("click", () => this.scrollToEnd());
    this.log.addEventListener("scroll", () => {
      if (this.isAtEnd()) {
        this.newest.hidden = true;
      }
    });
  }

  /** Says whether the server shows chat at all. */
  setShown(shown: boolean): void {
    this.empty.textContent = shown
      ? "No public chat since you opened this page."
      : "Public chat is not shown on this page.";
    this.empty.hidden = this.log.childElementCount > 0;
  }

  /** Adds a line; it appears with the next {@link ChatPanel.flush}. `region` is named if there is more than one. */
  push(chat: Chat, at: Date, region: string | undefined): void {
    const line = document.createElement("div");
    line.className = `chat-line chat-${chat.kind}`;
    const time = document.createElement("time");
    time.dateTime = at.toISOString();
    time.textContent = at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
    const head = document.createElement("p");
    head.className = "chat-head";
    head.append(textElement("b", "chat-from", chat.from));
    if (VERBS[chat.kind] !== "") {
      head.append(textElement("span", "chat-verb", VERBS[chat.kind]));
    }
    if (region !== undefined) {
      head.append(textElement("span", "chat-region", region));
    }
    head.append(time);
    line.append(head, textElement("p", "chat-text", chat.text));
    this.waiting.push(line);
    if (this.waiting.length > LINES_MAX) {
      this.waiting.shift();
    }
  }

  /** Puts the lines that came since the last call into the document: once per picture, however many talk. */
  flush(): void {
    if (this.waiting.length === 0) {
      return;
    }
    const follow = this.isAtEnd();
    this.log.append(...this.waiting);
    this.waiting = [];
    while (this.log.childElementCount > LINES_MAX) {
      this.log.firstElementChild?.remove();
    }
    this.empty.hidden = true;
    if (follow) {
      this.scrollToEnd();
    } else {
      this.newest.hidden = false;
    }
  }

  private isAtEnd(): boolean {
    const { scrollHeight, scrollTop, clientHeight } = this.log;
    return scrollHeight - scrollTop - clientHeight <= AT_END_PX;
  }

  private scrollToEnd(): void {
    this.log.scrollTop = this.log.scrollHeight;
    this.newest.hidden = true;
  }
}
