/** What the lines are made of. */
export interface ReadyLinesInput {
  commandName: string;
  localUrl: string;
  /** How other machines reach the hub; undefined when they cannot. */
  sharedUrl: string | undefined;
  roomCode: string;
  hasPassword: boolean;
}

/** Three lines to paste: ask the room now, point a program at it, bring another machine in. */
export function readyLines(input: ReadyLinesInput): { title: string; text: string }[] {
  const { commandName, localUrl, sharedUrl, roomCode, hasPassword } = input;
  const baseUrl = `${sharedUrl ?? localUrl}/rooms/${roomCode}/v1`;
  const body = '{"model":"*","stream":true,"messages":[{"role":"user","content":"Hello!"}]}';
  const password = hasPassword ? " --password-env ROOM_PASSWORD" : "";
  const join = `${commandName} join ${sharedUrl ?? localUrl}/rooms/${roomCode}${password}`;
  return [
    {
      title: "Ask it",
      text: `curl -N ${localUrl}/rooms/${roomCode}/v1/chat/completions -d '${body}'`,
    },
    {
      title: "Point any OpenAI program at it",
      text: `export OPENAI_BASE_URL=${baseUrl} OPENAI_API_KEY=local`,
    },
    sharedUrl === undefined
      ? {
          title: `Offer another model, from this machine (others cannot reach it yet: start with --lan)`,
          text: join,
        }
      : { title: "Offer a model from another machine", text: join },
  ];
}
