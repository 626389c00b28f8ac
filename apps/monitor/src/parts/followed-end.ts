import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

const nearPx = 80;

/** Keeps the end of the page in view while it grows, unless the reader scrolled away from it. */
export function useFollowedEnd(content: unknown): void {
  const isAtEnd = useRef(true);
  useEffect(() => {
    const look = () => {
      const { scrollHeight, clientHeight, scrollTop } = document.documentElement;
      isAtEnd.current = scrollTop + clientHeight >= scrollHeight - nearPx;
    };
    addEventListener("scroll", look, { passive: true });
    return () => removeEventListener("scroll", look);
  }, []);
  useLayoutEffect(() => {
    if (isAtEnd.current) scrollTo(0, document.documentElement.scrollHeight);
  }, [content]);
}
