import type { VNode } from "preact";
import type { Address } from "./address.ts";

/** A link that cannot be watched: why, and what to do. */
export function Unreachable({ address }: { address: Exclude<Address, { kind: "room" }> }): VNode {
  return (
    <main class="unreachable">
      <h1>roomhub</h1>
      <Explanation address={address} />
    </main>
  );
}

function Explanation({ address }: { address: Exclude<Address, { kind: "room" }> }): VNode {
  switch (address.kind) {
    case "none":
      return (
        <form method="get">
          <p>Which room? Paste an invite URL, or a room code and the URL of its hub.</p>
          <label>
            Room <input name="room" required placeholder="http://192.168.1.5:5050/rooms/ABC234" />
          </label>
          <label>
            Hub <input name="hub" placeholder={address.hubUrl} />
          </label>
          <button type="submit">Watch</button>
        </form>
      );
    case "invalid":
      return (
        <p role="alert">
          {address.message}. <a href="?room=">Enter another room</a>
        </p>
      );
    case "mixed-content": {
      // Hubs serve the page unless `handout` is off.
      const pageUrl = `${address.hubUrl}/rooms/${address.room}/watch`;
      return (
        <p role="alert">
          This page comes from https, and browsers do not let it call a hub at plain http. The hub
          has the same page: <a href={pageUrl}>{pageUrl}</a>
        </p>
      );
    }
  }
}
