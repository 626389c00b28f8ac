import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";

export interface CopyButtonProps {
  label: string;
  /** Called when the button is pressed. */
  text: () => string;
}

const shownMs = 2_000;

/** Puts a text on the clipboard, and says whether that worked. */
export function CopyButton({ label, text }: CopyButtonProps): VNode {
  const [said, setSaid] = useState<string>();
  useEffect(() => {
    if (said === undefined) return;
    const timer = setTimeout(() => setSaid(undefined), shownMs);
    return () => clearTimeout(timer);
  }, [said]);
  return (
    <button
      type="button"
      onClick={() => {
        void copy(text()).then((isCopied) => setSaid(isCopied ? "Copied" : "Copying is refused"));
      }}
    >
      <span aria-live="polite">{said ?? label}</span>
    </button>
  );
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyWithSelection(text);
  }
}

/** Pages over plain http from another machine have no `navigator.clipboard`. */
function copyWithSelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  try {
    return document.execCommand("copy");
  } finally {
    area.remove();
  }
}
