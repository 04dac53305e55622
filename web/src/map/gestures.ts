/**
 * Pointer, wheel and keyboard on the map. A plain wheel scrolls the page; with Ctrl (which is also what a trackpad's
 * pinch sends) it zooms. One finger scrolls the page until the map is zoomed, then it drags the ground.
 */

import type { RegionMap } from "./map";
import { ZOOM_MAX } from "./viewport";

const ZOOM_STEP = 1.6;
const PAN_STEP_PX = 60;
/** A pointer that moves less than this between press and release is a click. */
const CLICK_PX_MAX = 5;

/**
 * Connects a map and its three buttons. `onPick` gets the avatar that was clicked, or `undefined` after a click beside all of
 * them; a click on a crowd zooms in on it. Returns a function that brings the buttons in line with the view; call it when a new
 * picture was drawn.
 */
export function attachGestures(
  map: RegionMap,
  buttons: { readonly closer: HTMLButtonElement; readonly farther: HTMLButtonElement; readonly whole: HTMLButtonElement },
  onPick: (id: number | undefined) => void,
): () => void {
  const { canvas, viewport } = map;

  const zoom = (ratio: number, x?: number, y?: number): void => {
    viewport.zoomBy(ratio, x, y);
    map.invalidate();
  };
  const whole = (): void => {
    onPick(undefined);
    viewport.showAll();
    map.invalidate();
  };
  buttons.closer.addEventListener("click", () => zoom(ZOOM_STEP));
  buttons.farther.addEventListener("click", () => zoom(1 / ZOOM_STEP));
  buttons.whole.addEventListener("click", whole);

  canvas.addEventListener(
    "wheel",
    (event) => {
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        zoom(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
      }
    },
    { passive: false },
  );

  let pressed: { x: number; y: number; travelled: number } | undefined;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.isPrimary && event.button === 0) {
      pressed = { x: event.offsetX, y: event.offsetY, travelled: 0 };
      canvas.setPointerCapture(event.pointerId);
    }
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!event.isPrimary) {
      return;
    }
    if (pressed !== undefined) {
      const [dx, dy] = [event.offsetX - pressed.x, event.offsetY - pressed.y];
      pressed = { x: event.offsetX, y: event.offsetY, travelled: pressed.travelled + Math.hypot(dx, dy) };
      if (pressed.travelled > CLICK_PX_MAX && viewport.zoom > 1) {
        if (map.followedId !== undefined) {
          onPick(undefined);
        }
        viewport.panBy(dx, dy);
      }
    }
    map.point({ x: event.offsetX, y: event.offsetY });
  });
  canvas.addEventListener("pointerup", (event) => {
    if (pressed !== undefined && pressed.travelled <= CLICK_PX_MAX) {
      const target = map.hit(event.offsetX, event.offsetY);
      if (target?.kind === "crowd") {
        zoom(ZOOM_STEP * ZOOM_STEP, target.crowd.x, target.crowd.y);
      } else {
        onPick(target?.kind === "avatar" ? target.id : undefined);
      }
    }
    pressed = undefined;
  });
  canvas.addEventListener("pointercancel", () => (pressed = undefined));
  canvas.addEventListener("pointerleave", () => map.point(undefined));
  canvas.addEventListener("dblclick", (event) => zoom(ZOOM_STEP * ZOOM_STEP, event.offsetX, event.offsetY));

  const keys: Record<string, () => void> = {
    "+": () => zoom(ZOOM_STEP),
    "=": () => zoom(ZOOM_STEP),
    "-": () => zoom(1 / ZOOM_STEP),
    "0": whole,
    Escape: whole,
    ArrowLeft: () => viewport.panBy(PAN_STEP_PX, 0),
    ArrowRight: () => viewport.panBy(-PAN_STEP_PX, 0),
    ArrowUp: () => viewport.panBy(0, PAN_STEP_PX),
    ArrowDown: () => viewport.panBy(0, -PAN_STEP_PX),
  };
  canvas.addEventListener("keydown", (event) => {
    const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
    // Arrow keys scroll the page while there is nothing to pan.
    if (action !== undefined && (viewport.zoom > 1 || !event.key.startsWith("Arrow"))) {
      event.preventDefault();
      action();
      map.invalidate();
    }
  });
  return () => {
    canvas.style.touchAction = viewport.zoom > 1 ? "none" : "pan-y";
    buttons.closer.disabled = viewport.zoom >= ZOOM_MAX;
    buttons.farther.disabled = viewport.zoom <= 1;
    buttons.whole.disabled = viewport.zoom <= 1;
  };
}
