/** Whether two names are equal, ignoring a `:latest` tag. Contract §3. */
export function isSameModel(left: string, right: string): boolean {
  return left === right || withoutLatest(left) === withoutLatest(right);
}

export function withoutLatest(model: string): string {
  return model.endsWith(":latest") ? model.slice(0, -":latest".length) : model;
}
