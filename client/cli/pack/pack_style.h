// The style of the report of `pack`, beyond what all reports share.
#ifndef EVENKEEL_CLIENT_CLI_PACK_PACK_STYLE_H_
#define EVENKEEL_CLIENT_CLI_PACK_PACK_STYLE_H_

namespace evenkeel::cli {

// Grey, orange and blue can be told apart by every kind of eye, and in print.
inline constexpr char kPackStyle[] = R"css(
:root { --random: #8b95a3; --isf: #d97a1f; --ours: #1f66d1; }
@media (prefers-color-scheme: dark) {
  :root { --random: #8290a1; --isf: #f0973f; --ours: #5b9bff; }
}
@media print { :root { --random: #8b95a3; --isf: #d97a1f; --ours: #1f66d1; } }
svg .random, .key.random { --mark: var(--random); }
svg .isf, .key.isf { --mark: var(--isf); }
svg .ours, .key.ours { --mark: var(--ours); }
.group-0 { --mark: #2f9e77; } .group-1 { --mark: #8f5bc4; } .group-2 { --mark: #d1495b; }
.group-3 { --mark: #c79a1b; } .group-4 { --mark: #2b9fb5; } .group-5 { --mark: #9a6a3f; }
.group-6 { --mark: #c768a8; } .group-7 { --mark: #7f9a3a; }
)css";

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PACK_PACK_STYLE_H_
