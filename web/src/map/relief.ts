/** Fetches each region's heights at each connection, and again every now and then, and keeps the shaded picture, per theme, as a canvas to copy from. */

import type { Region } from "../model/region";
import { decodeHeights, HEIGHTS_SIDE, ProtocolError } from "../net/protocol";
import { context2d } from "./markers";
import { DARK, HeightField, LIGHT, PIXELS_PER_SAMPLE, shade } from "./terrain";

interface Entry {
  field: HeightField | undefined;
  dark: boolean;
  picture: HTMLCanvasElement | undefined;
}

export class Reliefs {
  private entries = new Map<Region, Entry>();

  /** `onReady` is called when a picture that was not there before can be drawn. `address` says where a region's heights are. */
  constructor(
    private readonly onReady: () => void,
    private readonly address: (region: Region) => string = (region) => `regions/${region.info.id}/heights`,
  ) {}

  /** Forgets all and fetches anew: after a reconnection the land may be another. */
  load(regions: readonly Region[]): void {
    this.entries = new Map(regions.map((region) => [region, { field: undefined, dark: false, picture: undefined }]));
    for (const region of regions) {
      void this.fetchHeights(region);
    }
  }

  /** Fetches anew, and shows the former heights until then. */
  refresh(): void {
    for (const region of this.entries.keys()) {
      void this.fetchHeights(region);
    }
  }

  /** The picture of a region, or `undefined` as long as its heights are not here. */
  picture(region: Region, dark: boolean): HTMLCanvasElement | undefined {
    const entry = this.entries.get(region);
    if (entry?.field === undefined) {
      return undefined;
    }
    if (entry.picture === undefined || entry.dark !== dark) {
      entry.picture = paint(entry.field, region, dark);
      entry.dark = dark;
    }
    return entry.picture;
  }

  private async fetchHeights(region: Region): Promise<void> {
    try {
      const response = await fetch(this.address(region));
      if (!response.ok) {
        throw new ProtocolError(`the server answers with status ${response.status}`);
      }
      const samples = decodeHeights(await response.arrayBuffer());
      const entry = this.entries.get(region);
      if (entry !== undefined) {
        entry.field = new HeightField(HEIGHTS_SIDE, samples).enlarge(PIXELS_PER_SAMPLE);
        entry.picture = undefined;
        this.onReady();
      }
    } catch (error) {
      // The map works without its ground, and the next connection asks again.
      console.warn(`No terrain for ${region.info.name}: ${String(error)}`);
    }
  }
}

function paint(field: HeightField, region: Region, dark: boolean): HTMLCanvasElement {
  const { size_m, water_m } = region.info;
  const canvas = document.createElement("canvas");
  canvas.width = field.side;
  canvas.height = field.side;
  const pixels = shade(field, size_m, water_m, dark ? DARK : LIGHT);
  context2d(canvas).putImageData(new ImageData(pixels, field.side, field.side), 0, 0);
  return canvas;
}
