import type { VNode } from "preact";

/** Asks for the key of a closed room. */
export function KeyForm({ room, onKey }: { room: string; onKey: (key: string) => void }): VNode {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const key = new FormData(event.currentTarget as HTMLFormElement).get("key");
    if (typeof key === "string") onKey(key.trim());
  };
  return (
    <form class="empty" onSubmit={submit}>
      <label>
        Key of room {room}{" "}
        <input
          name="key"
          type="password"
          required
          autocomplete="off"
          pattern="\s*rhk_[\w\-]{43}\s*"
        />
      </label>{" "}
      <button type="submit">Enter</button>
    </form>
  );
}
