// The style that all reports share.
#ifndef EVENKEEL_CLIENT_CLI_REPORT_PAGE_STYLE_H_
#define EVENKEEL_CLIENT_CLI_REPORT_PAGE_STYLE_H_

namespace evenkeel::cli {

inline constexpr char kPageStyle[] = R"css(
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --ink: #1c2430; --dim: #5d6878; --rule: #dfe3e9;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14181e; --card: #1c222b; --ink: #e7ebf0; --dim: #9aa6b5; --rule: #333c48;
  }
}
@media print {
  :root {
    color-scheme: light;
    --page: #ffffff; --card: #ffffff; --ink: #000000; --dim: #444444; --rule: #cccccc;
  }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  font-variant-numeric: tabular-nums;
}
main { max-width: 1160px; margin: 0 auto; padding: 28px 20px 40px; }
h1 { font-size: 26px; line-height: 1.2; margin: 0 0 6px; }
h2 { font-size: 18px; margin: 34px 0 4px; }
header p, .lead { color: var(--dim); margin: 0 0 14px; max-width: 980px; overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(6, 1fr); gap: 12px; margin-top: 20px; }
.tile, figure, .scroll {
  background: var(--card); border: 1px solid var(--rule); border-radius: 8px;
}
.tile { padding: 12px 14px; min-width: 0; }
.what, .below { color: var(--dim); font-size: 13px; }
.below { white-space: pre-line; line-height: 1.35; }
.figure { font-size: 25px; font-weight: 600; line-height: 1.35; }
.charts { display: grid; grid-template-columns: 1fr 1fr; gap: 14px; }
figure { margin: 0; padding: 12px 14px 8px; break-inside: avoid; min-width: 0; }
figcaption { font-weight: 600; margin-bottom: 6px; }
svg { display: block; width: 100%; height: auto; font-size: 12px; }
svg text { fill: var(--ink); font-family: inherit; }
svg .tick, svg .axis { fill: var(--dim); }
svg .name { font-weight: 600; }
svg .name { fill: var(--mark); }
svg .bar, svg .dot { fill: var(--mark); }
svg .line { fill: none; stroke: var(--mark); stroke-width: 2; stroke-linejoin: round; }
svg .band { fill: var(--mark); fill-opacity: 0.16; }
svg .grid { stroke: var(--rule); stroke-width: 1; }
svg .floor { stroke: var(--dim); stroke-width: 1; }
svg .cap { stroke: var(--ink); stroke-width: 1.2; stroke-dasharray: 4 3; }
svg .cap-text { fill: var(--ink); }
.legend { margin: 0 0 12px; }
.legend .key { margin-right: 24px; }
.key { white-space: nowrap; }
.key::before {
  content: ""; display: inline-block; width: 12px; height: 12px; border-radius: 3px;
  margin-right: 7px; vertical-align: -1px; background: var(--mark);
}
.scroll { overflow-x: auto; margin-top: 10px; break-inside: avoid; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; }
th, td { padding: 7px 8px; text-align: right; white-space: nowrap; }
thead th { color: var(--dim); font-weight: 500; font-size: 12.5px; }
thead .group { text-align: center; border-left: 1px solid var(--rule); padding-bottom: 0; }
tbody th, thead th:first-child { text-align: left; }
tbody th { font-weight: 600; }
tbody small { display: block; color: var(--dim); font-weight: 400; padding-left: 19px; }
tbody tr { border-top: 1px solid var(--rule); }
footer { color: var(--dim); font-size: 13px; margin-top: 24px; }
footer p { margin: 0 0 8px; max-width: 980px; }
@media screen and (max-width: 900px) {
  .tiles { grid-template-columns: repeat(3, 1fr); }
  .charts { grid-template-columns: 1fr; }
}
@media screen and (max-width: 520px) { .tiles { grid-template-columns: repeat(2, 1fr); } }
@page { margin: 12mm; }
@media print {
  body { font-size: 11px; }
  main { padding: 0; }
  h1 { font-size: 20px; }
  h2 { font-size: 14px; margin-top: 16px; break-after: avoid; }
  .figure { font-size: 16px; }
  .what, .below, .lead, footer { font-size: 10px; }
  .tile { padding: 8px; }
  .tiles, .charts { gap: 8px; }
  .tiles, .legend { break-inside: avoid; }
  table, thead th { font-size: 9px; }
  th, td { padding: 4px; }
  .scroll { overflow: visible; }
}
)css";

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_REPORT_PAGE_STYLE_H_
