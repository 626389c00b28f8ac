import { useEffect, useState } from "preact/hooks";

/** The page's views by their names in the address, in the order of their links. */
export const VIEWS = {
  room: "Room",
  log: "Log",
  figures: "Figures",
  try: "Try it",
  invite: "Invite",
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
