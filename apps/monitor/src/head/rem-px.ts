import { useEffect, useLayoutEffect, useState } from "preact/hooks";

/**
 * Size of the root's font, px: it grows with the window and in projector mode.
 *
 * @param isProjector - changes the font without changing the window
 */
export function useRemPx(isProjector: boolean): number {
  const [remPx, setRemPx] = useState(measured);
  useLayoutEffect(() => {
    document.documentElement.classList.toggle("is-projector", isProjector);
    setRemPx(measured());
  }, [isProjector]);
  useEffect(() => {
    const measure = () => setRemPx(measured());
    addEventListener("resize", measure);
    return () => removeEventListener("resize", measure);
  }, []);
  return remPx;
}

function measured(): number {
  return Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
}
