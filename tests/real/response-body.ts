/** The body of the last HTTP response in these bytes, its chunks joined. */
export function lastBody(received: Buffer): string {
  let body = "";
  let rest = received;
  while (rest.length > 0) {
    const headEnd = rest.indexOf("\r\n\r\n");
    if (headEnd === -1) throw new Error(`no head in ${rest.toString()}`);
    const head = rest.subarray(0, headEnd).toString("latin1");
    const after = rest.subarray(headEnd + 4);
    const length = /^content-length: (\d+)/im.exec(head)?.[1];
    const read = length === undefined ? unchunk(after) : cut(after, Number(length));
    body = read.body.toString();
    rest = read.rest;
  }
  return body;
}

interface Read {
  body: Buffer;
  rest: Buffer;
}

function cut(bytes: Buffer, length: number): Read {
  return { body: bytes.subarray(0, length), rest: bytes.subarray(length) };
}

function unchunk(bytes: Buffer): Read {
  const chunks: Buffer[] = [];
  let rest = bytes;
  for (;;) {
    const lineEnd = rest.indexOf("\r\n");
    const size = Number.parseInt(rest.subarray(0, lineEnd).toString("latin1"), 16);
    const chunk = rest.subarray(lineEnd + 2, lineEnd + 2 + size);
    rest = rest.subarray(lineEnd + 2 + size + 2);
    if (size === 0) return { body: Buffer.concat(chunks), rest };
    chunks.push(chunk);
  }
}
