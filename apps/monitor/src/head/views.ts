import { useEffect, useState } from "preact/hooks";

/** The page's views by their names in the address, in the order of their links. */
export const VIEWS = {
  room: "Room",
  log: "Log",
  figures: "Figures",
  try: "Try it",
  invite: "Invite",
  bench: "Bench",
} as const;
export type ViewName = keyof typeof VIEWS;

/** @param hash - of the address, such as `#log`; any unknown one is the first view */
function viewName(hash: string): ViewName {
  const name = hash.slice(1);
  return Object.hasOwn(VIEWS, name) ? (name as ViewName) : "room";
}

/** The view that the address names. */
export function useView(): ViewName {
  const [name, setName] = useState(() => viewName(location.hash));
  useEffect(() => {
    const look = () => setName(viewName(location.hash));
    addEventListener("hashchange", look);
    return () => removeEventListener("hashchange", look);
  }, []);
  return name;
}

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
