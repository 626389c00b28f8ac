import type { VNode } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

const themes = ["auto", "dark", "light"] as const;
type Theme = (typeof themes)[number];
const storageKey = "roomhub.theme";

/** Changes between the system's theme, the dark and the light one; kept for the next visit. */
export function ThemeButton(): VNode {
  const [theme, setTheme] = useState<Theme>(storedTheme);
  // Before it is shown: a page that is left at once keeps it, too.
  useLayoutEffect(() => {
    document.documentElement.style.colorScheme = theme === "auto" ? "" : theme;
    try {
      localStorage.setItem(storageKey, theme);
    } catch {
      // Storage is refused here: the theme holds until the page is closed.
    }
  }, [theme]);
  return (
    <button
      type="button"
      class={`theme-button is-${theme}`}
      aria-label={`Theme: ${theme}`}
      title={`Theme: ${theme}`}
      onClick={() => setTheme(themes[(themes.indexOf(theme) + 1) % themes.length] ?? "auto")}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <circle cx="8" cy="8" r="6" />
        {theme === "auto" ? <path class="filled" d="M8 2a6 6 0 0 1 0 12z" /> : null}
        {theme === "dark" ? <circle class="filled" cx="8" cy="8" r="6" /> : null}
      </svg>
    </button>
  );
}

function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(storageKey);
    return themes.find((theme) => theme === stored) ?? "auto";
  } catch {
    return "auto";
  }
}
