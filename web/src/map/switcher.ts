/** The row of small live maps that chooses the region of the large one. */

import type { Region } from "../model/region";
import { formatCount } from "../format";
import { context2d } from "./markers";
import type { Reliefs } from "./relief";

/** Side of a small map, CSS pixels; the style sheet uses the same. */
const SIDE_PX = 56;

interface Item {
  readonly region: Region;
  readonly button: HTMLButtonElement;
  readonly canvas: HTMLCanvasElement;
  readonly count: HTMLElement;
}

export class RegionSwitcher {
  private items: Item[] = [];

  constructor(
    private readonly list: HTMLElement,
    private readonly reliefs: Reliefs,
    private readonly onChoose: (region: Region) => void,
  ) {}

  /** Replaces the regions. One region needs no choice, so nothing is shown then. */
  setRegions(regions: readonly Region[]): void {
    this.items = regions.map((region) => this.makeItem(region));
    this.list.replaceChildren(...this.items.map((item) => item.button));
    this.list.hidden = regions.length < 2;
  }

  /** Marks the region that the large map shows. */
  setChosen(region: Region): void {
    for (const item of this.items) {
      item.button.setAttribute("aria-pressed", String(item.region === region));
    }
  }

  /** Draws all small maps; twice a second is enough for them. */
  paint(now: number, colours: { readonly dark: boolean; readonly dot: string }): void {
    for (const { region, canvas, count } of this.items) {
      count.textContent = formatCount(region.rosterCount);
      const context = context2d(canvas);
      const side = canvas.width;
      context.clearRect(0, 0, side, side);
      const picture = this.reliefs.picture(region, colours.dark);
      if (picture !== undefined) {
        context.drawImage(picture, 0, 0, side, side);
      }
      const scale = side / region.info.size_m;
      const dot = (region.placedCount > 200 ? 1 : 2) * (side / SIDE_PX);
      const pose = { x: 0, y: 0, yaw: 0 };
      context.fillStyle = colours.dot;
      for (const track of region.avatars) {
        region.pose(track, now, pose);
        context.fillRect(pose.x * scale - dot / 2, side - pose.y * scale - dot / 2, dot, dot);
      }
    }
  }

  private makeItem(region: Region): Item {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "region";
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = SIDE_PX * Math.ceil(window.devicePixelRatio);
    canvas.setAttribute("aria-hidden", "true");
    const name = document.createElement("span");
    name.className = "region-name";
    name.textContent = region.info.name;
    const count = document.createElement("span");
    const caption = document.createElement("span");
    caption.className = "region-caption";
    caption.append(count, " here");
    button.append(canvas, name, caption);
    button.addEventListener("click", () => this.onChoose(region));
    return { region, button, canvas, count };
  }
}
