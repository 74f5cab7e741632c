// The style sheet of the status page, for light and dark screens.
#ifndef EVENKEEL_SERVER_ADMIN_STATUS_STYLE_H_
#define EVENKEEL_SERVER_ADMIN_STATUS_STYLE_H_

namespace evenkeel::server {

inline constexpr char kStatusStyle[] = R"css(
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --ink: #1c2430; --dim: #5d6878; --rule: #dfe3e9;
  --good: #1a7f45; --warning: #96600a; --bad: #c02b2b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14181e; --card: #1c222b; --ink: #e7ebf0; --dim: #9aa6b5; --rule: #333c48;
    --good: #55c98a; --warning: #e3b052; --bad: #ff8080;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.25rem; max-width: 80rem;
  background: var(--page); color: var(--ink); font: 15px/1.45 system-ui, sans-serif;
}
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .25rem 1rem; margin-bottom: 1rem; }
h1 { margin: 0; font-size: 1.4rem; }
header p, section p { margin: 0; color: var(--dim); }
header strong { padding: .1rem .6rem; border: 1px solid currentColor; border-radius: 1rem; font-size: .85rem; }
.sections { columns: 3 20rem; column-gap: 1rem; margin-bottom: 1rem; }
.sections section:last-child { margin-bottom: 0; }
section {
  background: var(--card); border: 1px solid var(--rule); border-radius: .5rem;
  padding: .9rem 1rem; margin-bottom: 1rem; break-inside: avoid;
}
.attention { border-left: .3rem solid var(--bad); }
h2 { margin: 0 0 .4rem; font-size: 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .25rem .75rem .25rem 0; text-align: left; vertical-align: top; unicode-bidi: isolate; }
tr + tr th, tr + tr td, thead + tbody tr:first-child td { border-top: 1px solid var(--rule); }
th { font-weight: 400; color: var(--dim); }
section:not(.wide):not(.attention) th { width: 55%; }
.attention th { width: 40%; }
td { overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.wide td, .wide th { overflow-wrap: normal; }
.wide td { max-width: 40rem; }
.number { text-align: right; white-space: nowrap; }
small { color: var(--dim); font-size: .85rem; }
td small { display: block; }
.good { color: var(--good); }
.warning { color: var(--warning); }
.bad { color: var(--bad); font-weight: 600; }
)css";

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_ADMIN_STATUS_STYLE_H_
