import type { Invite } from "@roomhub/client";

/** Something to paste. */
export interface InviteLine {
  title: string;
  text: string;
}

/** For a person who shares a model, for one who sends requests, and for one who watches. */
export function inviteLines({ hubUrl, room }: Invite, pageUrl: string): InviteLine[] {
  const roomUrl = `${hubUrl}/rooms/${room}`;
  const body = '{"model":"*","stream":true,"messages":[{"role":"user","content":"Hello!"}]}';
  return [
    { title: "Share a model", text: `npx roomhub join ${roomUrl}` },
    { title: "Send a request", text: `curl -N ${roomUrl}/v1/chat/completions -d '${body}'` },
    {
      title: "Point any OpenAI client at it, in your name",
      text: `export OPENAI_BASE_URL=${roomUrl}/v1 OPENAI_API_KEY=as-YOURNAME`,
    },
    { title: "Watch the room", text: pageUrl },
  ];
}

/** Whether others can use a link to this hub: one to this machine itself leads each of them to their own. */
export function isForOthers({ hubUrl }: Invite): boolean {
  return !/^https?:\/\/(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?(?:\/|$)/.test(hubUrl);
}
