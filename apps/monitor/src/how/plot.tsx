import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { PlotData } from "./figure-series.ts";

export interface PlotProps {
  title: string;
  /** of the vertical axis */
  unit: string;
  /** names of the lines, in their order */
  names: string[];
  /** custom properties with their colours */
  colors: string[];
  data: PlotData;
  /** the newest values in words, for screen readers and beside the title */
  summary: string;
}

const heightPx = 180;

/** One plot of the last 15 minutes. */
export function Plot({ title, unit, names, colors, data, summary }: PlotProps): VNode {
  const ref = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);

  useEffect(() => {
    const place = ref.current;
    if (place === null) return;
    const make = () => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsFor(place, names, colors), alignedOf(data), place);
    };
    make();
    // Colours are read from the style sheet, which has another set for each theme.
    const theme = matchMedia("(prefers-color-scheme: dark)");
    const chosen = new MutationObserver(make);
    chosen.observe(document.documentElement, { attributeFilter: ["style", "class"] });
    theme.addEventListener("change", make);
    const size = new ResizeObserver(() => {
      plot.current?.setSize({ width: place.clientWidth, height: heightPx });
    });
    size.observe(place);
    return () => {
      theme.removeEventListener("change", make);
      chosen.disconnect();
      size.disconnect();
      plot.current?.destroy();
    };
  }, []);
  useEffect(() => plot.current?.setData(alignedOf(data)), [data]);

  return (
    <figure class="plot">
      <figcaption>
        <b>{title}</b> <span class="quiet">{unit}</span>
        <span class="plot-summary">{summary}</span>
      </figcaption>
      <div ref={ref} role="img" aria-label={`${title}, ${unit}: ${summary}`} />
      <p class="plot-names">
        {names.map((name, index) => (
          <span key={colors[index]} style={{ "--line-color": `var(${colors[index]})` }}>
            {name}
          </span>
        ))}
      </p>
    </figure>
  );
}

function alignedOf({ times, lines }: PlotData): uPlot.AlignedData {
  return [times, ...lines];
}

function optionsFor(
  place: HTMLElement,
  names: readonly string[],
  colors: readonly string[],
): uPlot.Options {
  const style = getComputedStyle(place);
  const color = (variable: string) => colorOf(place, variable);
  const grid = { stroke: color("--line"), width: 1 };
  const axis = { stroke: color("--soft"), grid, ticks: grid, font: `12px ${style.fontFamily}` };
  return {
    width: place.clientWidth,
    height: heightPx,
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.1 : 1] } },
    axes: [axis, { ...axis, size: 46 }],
    series: [
      {},
      ...names.map((label, index) => ({
        label,
        stroke: color(colors[index] ?? "--ink"),
        width: 2,
        // A value without neighbours is no line.
        points: { show: true, size: 4 },
        // A bucket without a measurement is no end of the line.
        spanGaps: true,
      })),
    ],
  };
}

/** A canvas does not know `light-dark()`: the colour as it is computed here. */
function colorOf(place: HTMLElement, variable: string): string {
  const probe = document.createElement("i");
  probe.style.color = `var(${variable})`;
  place.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
