interface PainterOptions {
  draw: () => void;
  /** `requestAnimationFrame` */
  requestFrame: (callback: () => void) => void;
  /** Calls back once after `ms`. */
  after: (ms: number, callback: () => void) => void;
  nowMs: () => number;
  /** between two drawings; texts that change more often cannot be read */
  minimumMs: number;
}

/** Draws at most once per frame and {@link PainterOptions.minimumMs}, however many changes there are. */
export function createPainter(options: PainterOptions) {
  const { draw, requestFrame, after, nowMs, minimumMs } = options;
  let lastMs = -Infinity;
  let isWaiting = false;
  const paint = () => {
    isWaiting = false;
    lastMs = nowMs();
    draw();
  };
  return {
    /** Something changed: draw with one of the next frames. */
    request() {
      if (isWaiting) return;
      isWaiting = true;
      const waitMs = lastMs + minimumMs - nowMs();
      if (waitMs <= 0) requestFrame(paint);
      else after(waitMs, () => requestFrame(paint));
    },
  };
}
