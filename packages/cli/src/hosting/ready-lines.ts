/** What the lines are made of. */
export interface ReadyLinesInput {
  commandName: string;
  localUrl: string;
  /** How other machines reach the hub; undefined when they cannot. */
  sharedUrl: string | undefined;
  roomCode: string;
  hasPassword: boolean;
}

/** Three lines to paste: bring a model in, ask the room now, point a program at it. */
export function readyLines(input: ReadyLinesInput): { title: string; text: string }[] {
  const { commandName, localUrl, sharedUrl, roomCode, hasPassword } = input;
  const roomUrl = `${sharedUrl ?? localUrl}/rooms/${roomCode}`;
  const body = '{"model":"*","stream":true,"messages":[{"role":"user","content":"Hello!"}]}';
  const share = sharedUrl === undefined ? "another model" : "a model from another machine";
  return [
    {
      title: `Share ${share}${hasPassword ? "; it asks for the password" : ""}`,
      text: `${commandName} join ${roomUrl}`,
    },
    { title: "Ask it", text: `curl -N ${roomUrl}/v1/chat/completions -d '${body}'` },
    {
      title: "Point any OpenAI program at it",
      text: `export OPENAI_BASE_URL=${roomUrl}/v1 OPENAI_API_KEY=roomhub`,
    },
  ];
}
