import { useEffect, useLayoutEffect, useState } from "preact/hooks";

/** How much room the page has. */
export interface PageSize {
  /** as narrow as a phone: the same width as in the style sheet */
  isNarrow: boolean;
  /** of the root's font, px: it grows with the window and in projector mode */
  remPx: number;
}

const narrow = "(max-width: 759px)";

/** @param isProjector - changes the font without changing the window */
export function usePageSize(isProjector: boolean): PageSize {
  const [size, setSize] = useState(measured);
  const measure = () => {
    const next = measured();
    setSize((known) =>
      known.isNarrow === next.isNarrow && known.remPx === next.remPx ? known : next,
    );
  };
  useLayoutEffect(() => {
    document.documentElement.classList.toggle("is-projector", isProjector);
    measure();
  }, [isProjector]);
  useEffect(() => {
    addEventListener("resize", measure);
    return () => removeEventListener("resize", measure);
  }, []);
  return size;
}

function measured(): PageSize {
  return {
    isNarrow: matchMedia(narrow).matches,
    remPx: Number.parseFloat(getComputedStyle(document.documentElement).fontSize),
  };
}
