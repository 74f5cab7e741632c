// The style of the report of a pipeline, beyond what all reports share.
#ifndef EVENKEEL_CLIENT_CLI_TIMELINE_TIMELINE_STYLE_H_
#define EVENKEEL_CLIENT_CLI_TIMELINE_TIMELINE_STYLE_H_

namespace evenkeel::cli {

// Blue, yellow and green also differ in lightness, for every kind of eye and in print.
inline constexpr char kTimelineStyle[] = R"css(
:root {
  --forward: #3f7fd0; --recompute: #e5b73b; --backward: #2c8f66; --weight: #8f62c4;
  --send: #7e8896; --sync: #cf5640; --gather: #3fa3b0; --optimizer: #7a573a; --idle: #e8ebf0;
  --wait-forward: #c2c9d4; --wait-backward: #a9b2c0; --wait-p2p: #8e99aa; --wait-sync: #d9dde4;
  --p0: #3f7fd0; --p1: #2c8f66; --p2: #7a573a; --p3: #e08a2e; --p4: #e5c95c; --p5: #8f62c4;
  --p6: #7e8896; --p7: #c2c9d4; --p8: #cf5640; --p9: #4fb3bf; --over: #c62f2f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --forward: #5b98e6; --recompute: #e5b73b; --backward: #3fae80; --weight: #a682d8;
    --idle: #2a323d; --wait-forward: #4a5564; --wait-backward: #5d6979; --wait-p2p: #758294;
    --wait-sync: #38424f; --p7: #4a5564;
  }
}
@media print {
  :root {
    --forward: #3f7fd0; --backward: #2c8f66; --weight: #8f62c4; --idle: #e8ebf0;
    --wait-forward: #c2c9d4; --wait-backward: #a9b2c0; --wait-p2p: #8e99aa; --wait-sync: #d9dde4;
    --p7: #c2c9d4;
  }
}
figure { margin-bottom: 14px; }
header .verdict { color: var(--ink); font-weight: 600; margin-bottom: 4px; }
header .note { margin-bottom: 4px; }
.forward { --mark: var(--forward); }
.recompute { --mark: var(--recompute); }
.backward { --mark: var(--backward); }
.weight { --mark: var(--weight); }
.send { --mark: var(--send); }
.sync { --mark: var(--sync); }
.gather { --mark: var(--gather); }
.optimizer { --mark: var(--optimizer); }
.idle { --mark: var(--idle); }
.wait-forward { --mark: var(--wait-forward); }
.wait-backward { --mark: var(--wait-backward); }
.wait-p2p { --mark: var(--wait-p2p); }
.wait-sync { --mark: var(--wait-sync); }
.part-0 { --mark: var(--p0); } .part-1 { --mark: var(--p1); } .part-2 { --mark: var(--p2); }
.part-3 { --mark: var(--p3); } .part-4 { --mark: var(--p4); } .part-5 { --mark: var(--p5); }
.part-6 { --mark: var(--p6); } .part-7 { --mark: var(--p7); } .part-8 { --mark: var(--p8); }
.part-9 { --mark: var(--p9); }
svg rect { fill: var(--mark); }
svg .edge { stroke: var(--card); stroke-width: 0.7; }
svg .shade-1 { fill-opacity: 0.8; }
svg .shade-2 { fill-opacity: 0.62; }
svg .shade-3 { fill-opacity: 0.45; }
svg .pack { fill: #ffffff; font-size: 10px; pointer-events: none; }
svg .on-pale { fill: var(--ink); }
svg .curve { fill: var(--forward); fill-opacity: 0.22; stroke: var(--forward); stroke-width: 1; }
svg .peak { fill: var(--sync); }
svg .over { fill: var(--over); font-weight: 600; }
svg .stage { font-weight: 600; }
.legend .key { display: inline-block; margin-right: 18px; }
table.facts { width: auto; }
table.facts td, table.facts th, table td.text, table th.text { text-align: left; white-space: normal; }
table.facts th { color: var(--dim); font-weight: 500; white-space: nowrap; padding-right: 18px; }
.facts-card { padding: 4px 10px; }
)css";

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_TIMELINE_TIMELINE_STYLE_H_
