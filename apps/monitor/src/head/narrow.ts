import { useEffect, useState } from "preact/hooks";

/** Rows need two lines below this width; the same as in the style sheet. */
const query = "(max-width: 759px)";

/** Whether the page is as narrow as a phone. */
export function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const look = () => setNarrow(media.matches);
    media.addEventListener("change", look);
    return () => media.removeEventListener("change", look);
  }, []);
  return isNarrow;
}
