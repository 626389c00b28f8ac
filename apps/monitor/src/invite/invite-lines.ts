import { joinLine, type PastedHub } from "@roomhub/protocol";

/**
 * Lines to paste: for a person who shares a model, for one who sends requests, and for one who watches.
 *
 * @param pageUrl - of this page, where the hub hands out none
 */
export function inviteLines(hub: PastedHub, room: string, pageUrl: string) {
  const roomUrl = `${hub.hubUrl}/rooms/${room}`;
  const body = '{"model":"*","stream":true,"messages":[{"role":"user","content":"Hello!"}]}';
  return [
    { title: "Share a model", text: joinLine(hub, room) },
    { title: "Send a request", text: `curl -N ${roomUrl}/v1/chat/completions -d '${body}'` },
    {
      title: "Point any OpenAI client at it, in your name",
      text: `export OPENAI_BASE_URL=${roomUrl}/v1 OPENAI_API_KEY=as-YOURNAME`,
    },
    { title: "Watch the room", text: hub.isHandedOut ? `${roomUrl}/watch` : pageUrl },
  ];
}
