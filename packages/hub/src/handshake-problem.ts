/** What stands in a request's head. */
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** 16 bytes in base64. */
const keyForm = /^[A-Za-z0-9+/]{22}==$/;
/** A token of RFC 9110 §5.6.2 among commas. */
const protocolForm = /^[ \t]*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)[ \t]*$/;

/**
 * Why a request that asks for a WebSocket cannot have one, as a sentence, or undefined when it can. RFC 6455 §4.2.1.
 *
 * Refuses whatever `ws` would refuse, which answers in HTML and tells nobody.
 *
 * @param headers - names in lower case; `upgrade` was looked at before
 */
export function handshakeProblem(method: string | undefined, headers: Headers): string | undefined {
  if (method !== "GET") return "A WebSocket is opened by GET.";
  if (!keyForm.test(String(headers["sec-websocket-key"]))) {
    return "Sec-WebSocket-Key must be 16 bytes in base64.";
  }
  if (headers["sec-websocket-version"] !== "13") return "Sec-WebSocket-Version must be 13.";
  const protocols = headers["sec-websocket-protocol"];
  if (protocols !== undefined && !isListOfNames(String(protocols))) {
    return "Sec-WebSocket-Protocol must be a list of names, each of them once.";
  }
  return undefined;
}

function isListOfNames(list: string): boolean {
  const names = list.split(",").map((entry) => protocolForm.exec(entry)?.[1]);
  return !names.includes(undefined) && new Set(names).size === names.length;
}
