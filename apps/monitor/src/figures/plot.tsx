import type { VNode } from "preact";
import { highestOf, pathOf, type PlotData, timeTicks, valueTicks } from "./plot-geometry.ts";

export interface PlotProps {
  title: string;
  /** of the vertical axis */
  unit: string;
  /** names of the lines, in their order */
  names: string[];
  /** custom properties with their colours */
  colors: string[];
  data: PlotData;
  /** the newest values in words, beside the title */
  summary?: string | undefined;
}

/** One plot of the last 15 minutes. */
export function Plot({ title, unit, names, colors, data, summary }: PlotProps): VNode {
  const highest = highestOf(data);
  return (
    <figure class="plot">
      <figcaption>
        <b>{title}</b> <span class="quiet">{unit}</span>
        {summary === undefined ? null : <span class="plot-summary">{summary}</span>}
      </figcaption>
      <div
        class="plot-area"
        role="img"
        aria-label={`${title}, ${unit}: ${summary ?? names.join(", ")}`}
      >
        {valueTicks(highest).map(({ at, text }) => (
          <div class="tick is-value" key={text} style={{ bottom: `${at * 100}%` }}>
            <span>{text}</span>
          </div>
        ))}
        {timeTicks(data.timesMs).map(({ at, text }) => (
          <div class="tick is-time" key={text} style={{ left: `${at * 100}%` }}>
            <span>{text}</span>
          </div>
        ))}
        <svg viewBox="0 0 1000 1000" preserveAspectRatio="none" aria-hidden="true">
          {data.lines.map((values, index) => (
            <path
              key={names[index]}
              d={pathOf(values, highest)}
              style={{ "--line-color": `var(${colors[index]})` }}
            />
          ))}
        </svg>
      </div>
      <p class="plot-names">
        {names.map((name, index) => (
          <span key={name} style={{ "--line-color": `var(${colors[index]})` }}>
            {name}
          </span>
        ))}
      </p>
    </figure>
  );
}
