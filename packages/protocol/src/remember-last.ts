/**
 * What `make` made last, as long as it is asked for the same thing: heads that repeat are handed out as the same object,
 * and what follows from one need not be found out again.
 *
 * @param make - of something that nobody changes; what it makes is shared, too
 */
export function rememberLast<From extends object, Made>(
  make: (from: From) => Made,
): (from: From) => Made {
  let last: { from: From; made: Made } | undefined;
  return (from) => {
    if (last === undefined || last.from !== from) last = { from, made: make(from) };
    return last.made;
  };
}
