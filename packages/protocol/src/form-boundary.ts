/** `bcharsnospace` of RFC 2046, with the spaces that are permitted inside. */
const boundaryParameter =
  /;\s*boundary=(?:"([\w'()+,./:=? -]{0,69}[\w'()+,./:=?-])"|([\w'()+./:?*&!#$%^`|~-]{1,70}))\s*(?:;|$)/i;

/** The boundary of a form, by its content type; undefined when it is none. */
export function boundaryOf(contentType: string): string | undefined {
  const [, quoted, plain] = boundaryParameter.exec(contentType) ?? [];
  return quoted ?? plain;
}
