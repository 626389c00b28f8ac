import { Component, type ComponentChildren, type FunctionComponent, h } from "preact";

/** A component that is rendered again only when one of its props is another value. */
export function pure<Props extends object>(
  render: (props: Props) => ComponentChildren,
): new (props: Props) => Component<Props> {
  return class extends Component<Props> {
    override shouldComponentUpdate(next: Readonly<Props>): boolean {
      return !isSame(this.props, next);
    }

    override render() {
      // As a component of its own, so that it may use hooks.
      return h(render as FunctionComponent<Props>, this.props);
    }
  };
}

function isSame(one: object, other: object): boolean {
  const entries = Object.entries(other);
  const known = one as Record<string, unknown>;
  return (
    Object.keys(one).length === entries.length &&
    entries.every(([name, value]) => known[name] === value)
  );
}
