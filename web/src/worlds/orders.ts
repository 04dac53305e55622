/**
 * Asks the operator to confirm a change of a world, and has it done.
 *
 * An order needs a token of the scope `worlds:write`. The operator enters it with the first order; it is kept for as long as the page is
 * open, in no storage, and asked for again when the server refuses it.
 */

import { part } from "../dom";
import { formatCount } from "../format";
import { Refusal, type Order, type World } from "./api";
import { shortId } from "./ranking";

export interface OrderTexts {
  readonly title: string;
  readonly question: string;
  readonly confirm: string;
  readonly busy: string;
}

/** The words of a confirmation. */
export function orderTexts(order: Order, world: World): OrderTexts {
  const name = `${world.name} (${shortId(world)})`;
  switch (order) {
    case "end": {
      const users = world.users === 0 ? "No user is in it." : `${formatCount(world.users)} ${world.users === 1 ? "user is" : "users are"} in it and will be sent back.`;
      const question = `${users} The world and its saved state are deleted. This cannot be undone.`;
      return { title: `End ${name}?`, question, confirm: "End world", busy: "Ending…" };
    }
    case "suspend": {
      const question = "It is saved and taken out of memory. The next visitor resumes it.";
      return { title: `Suspend ${name}?`, question, confirm: "Suspend", busy: "Suspending…" };
    }
    case "resume": {
      const question = "It is brought back into memory. Without a visitor it is suspended again after a while.";
      return { title: `Resume ${name}?`, question, confirm: "Resume", busy: "Resuming…" };
    }
  }
}

export class OrderDialog {
  private readonly dialog = part("order", HTMLDialogElement);
  private readonly form = part("order-form", HTMLFormElement);
  private readonly tokenRow = part("order-token-row", HTMLElement);
  private readonly tokenInput = part("order-token", HTMLInputElement);
  private readonly trouble = part("order-trouble", HTMLElement);
  private readonly confirm = part("order-confirm", HTMLButtonElement);
  private token: string | undefined;
  private pending: { readonly order: Order; readonly world: World; readonly texts: OrderTexts } | undefined;

  /** `send` has the order done; `onDone` is called when it was. */
  constructor(
    private readonly send: (order: Order, id: string, token: string) => Promise<void>,
    private readonly onDone: (order: Order, world: World) => void,
  ) {
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.submit();
    });
    part("order-cancel", HTMLButtonElement).addEventListener("click", () => this.dialog.close());
    // A token is not left lying in the document.
    this.dialog.addEventListener("close", () => (this.tokenInput.value = ""));
  }

  /** Opens the confirmation of an order. */
  open(order: Order, world: World): void {
    const texts = orderTexts(order, world);
    this.pending = { order, world, texts };
    part("order-title", HTMLElement).textContent = texts.title;
    part("order-question", HTMLElement).textContent = texts.question;
    this.confirm.className = order === "end" ? "danger" : "primary";
    this.showTrouble("");
    this.showBusy(false);
    this.dialog.showModal();
    (this.token === undefined ? this.tokenInput : part("order-cancel", HTMLButtonElement)).focus();
  }

  private async submit(): Promise<void> {
    const { pending } = this;
    const token = this.token ?? this.tokenInput.value.trim();
    if (pending === undefined || this.confirm.disabled) {
      return;
    }
    if (token === "") {
      this.showTrouble("Enter a token first.");
      this.tokenInput.focus();
      return;
    }
    this.showTrouble("");
    this.showBusy(true);
    try {
      await this.send(pending.order, pending.world.id, token);
      this.token = token;
      this.dialog.close();
      this.onDone(pending.order, pending.world);
    } catch (error) {
      const isToken = error instanceof Refusal && (error.status === 401 || error.status === 403);
      // A refusal for another reason says that the token is good.
      this.token = error instanceof Refusal && !isToken ? token : isToken ? undefined : this.token;
      this.showTrouble(error instanceof Refusal ? error.message : "The server does not answer.");
    }
    this.showBusy(false);
  }

  private showBusy(busy: boolean): void {
    this.confirm.disabled = busy;
    this.confirm.textContent = (busy ? this.pending?.texts.busy : this.pending?.texts.confirm) ?? "";
    this.tokenRow.hidden = this.token !== undefined;
  }

  private showTrouble(text: string): void {
    this.trouble.textContent = text;
    this.trouble.hidden = text === "";
  }
}
