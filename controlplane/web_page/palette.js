// The drawing's colours, from the style sheet, so that they follow the reader's light or dark mode; and the legend. Red
// is only for what needs repair: not for a load, however high. No state is shown by colour alone: down is dashed, drops
// are dotted, paused is long-dashed.
import { element, svg } from "./elements.js";

export const LINK_STATES = ["quiet", "idle", "load1", "load2", "load3", "load4", "load5", "paused", "drops", "down"];

export const DASHES = { down: [6, 4], drops: [2, 3], paused: [10, 3], quiet: [1, 4] };

const WORDS = {
  quiet: "quiet host (fine dots)", idle: "idle", load1: "below 10 %", load2: "below 30 %", load3: "below 60 %", load4: "below 85 %",
  load5: "85 % and more", paused: "paused (long dashes)", drops: "drops frames (dots)", down: "down (dashes)",
};

const NAMES = [...LINK_STATES, "page", "text", "switch", "host", "away", "drained", "accent", "tree1", "tree2", "tree3", "tree4"];

export function readPalette() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

export function onSchemeChange(call) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", call);
}

export function fillLegend(list, palette) {
  list.replaceChildren(...LINK_STATES.map((state) => {
    const looks = { x1: 0, y1: 4, x2: 24, y2: 4, stroke: palette[state], "stroke-width": 3, "stroke-dasharray": (DASHES[state] ?? []).join(" ") };
    return element("li", [svg("svg", { width: 24, height: 8, "aria-hidden": true }, svg("line", looks)), ` ${WORDS[state]}`]);
  }));
}
