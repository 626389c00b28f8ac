/**
 * Memoizes the last call of `make`: repeated headers yield the same object, so that work derived from it is not repeated.
 *
 * @param make - its argument must be immutable, compared by identity; its result is shared
 */
export function rememberLast<From, Made>(make: (from: From) => Made): (from: From) => Made {
  let last: { from: From; made: Made } | undefined;
  return (from) => {
    if (last === undefined || last.from !== from) last = { from, made: make(from) };
    return last.made;
  };
}
