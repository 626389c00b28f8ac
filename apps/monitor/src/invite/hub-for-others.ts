import { RoomhubClient } from "@roomhub/client";
import { type HealthResponse, type PastedHub, pastedHub } from "@roomhub/protocol";
import { useEffect, useState } from "preact/hooks";

/** The hub as others reach it: what it says of itself, once it has. */
export function useHubForOthers(hubUrl: string): PastedHub {
  const [health, setHealth] = useState<HealthResponse>();
  useEffect(() => {
    const stop = new AbortController();
    // Without it the lines are as the page knows the hub; its connection says elsewhere that it does not respond.
    new RoomhubClient({ hubUrl }).health({ signal: stop.signal }).then(setHealth, () => undefined);
    return () => stop.abort();
  }, [hubUrl]);
  return pastedHub(hubUrl, health ?? {});
}
