/**
 * A document with another text between `<!-- NAME: begin -->` and `<!-- NAME: end -->`.
 *
 * @throws Error when the markers are not there
 */
export function withMarkedText(document: string, name: string, text: string): string {
  const begin = `<!-- ${name}: begin -->`;
  const end = `<!-- ${name}: end -->`;
  const from = document.indexOf(begin);
  const to = document.indexOf(end);
  if (from === -1 || to < from) throw new Error(`no ${begin} … ${end} in the document`);
  return `${document.slice(0, from + begin.length)}\n\n${text}\n\n${document.slice(to)}`;
}
