// Number formats of the operands of a matrix product.
#ifndef EVENKEEL_PLANNER_BASE_NUMBER_FORMAT_H_
#define EVENKEEL_PLANNER_BASE_NUMBER_FORMAT_H_

namespace evenkeel::planner {

// kFp8 has one scale for each tensor; kFp8Block one for 128 values of an activation or 128 x 128 of
// a weight; kMxfp8 one for 32 values; kNvfp4 one for 16.
enum class NumberFormat { k16Bit, kFp8, kFp8Block, kMxfp8, kNvfp4 };

// Returns the bytes per value, scales included.
constexpr double ValueBytesOf(NumberFormat format) {
  switch (format) {
    case NumberFormat::k16Bit:
      return 2;
    case NumberFormat::kFp8:
      return 1;
    case NumberFormat::kFp8Block:
      return 1 + 4.0 / 128;
    case NumberFormat::kMxfp8:
      return 1 + 1.0 / 32;
    case NumberFormat::kNvfp4:
      return 0.5 + 1.0 / 16;
  }
  return 2;
}

// Returns the dense peak of a format over that of 16 bits. The format's rates are given as shares
// of that peak.
constexpr double PeakRatioOf(NumberFormat format) {
  return format == NumberFormat::k16Bit ? 1 : format == NumberFormat::kNvfp4 ? 4 : 2;
}

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_BASE_NUMBER_FORMAT_H_
