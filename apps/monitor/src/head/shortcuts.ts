import { useEffect } from "preact/hooks";
import { VIEWS } from "./view-name.ts";

export interface ShortcutActions {
  toggleProjector: () => void;
  leaveProjector: () => void;
}

/** `1` to `6`: a view; `p`: the projector mode; Escape leaves it. Not while a field is being filled in. */
export function useShortcuts({ toggleProjector, leaveProjector }: ShortcutActions): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isField(event.target)) return;
      const view = Object.keys(VIEWS)[Number(event.key) - 1];
      if (view !== undefined) location.hash = view;
      else if (event.key === "p") toggleProjector();
      else if (event.key === "Escape") leaveProjector();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, textarea, select");
}
