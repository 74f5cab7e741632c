// Sizes that images and frames are resized to.
#ifndef EVENKEEL_CLIENT_CLI_MEDIA_RESIZE_H_
#define EVENKEEL_CLIENT_CLI_MEDIA_RESIZE_H_

#include <cstdint>

namespace evenkeel::cli {

struct Grid {
  int64_t rows = 0, columns = 0;
  int64_t cells() const { return rows * columns; }
};

// Qwen2-VL's resizing: whole cells of `side` pixels, as many pixels as `least` to `most`. Throws
// std::invalid_argument if a side is over 200 times the other.
Grid SmartResize(int64_t width, int64_t height, int64_t side, int64_t least, int64_t most);

// As SmartResize, with the pixels of all frames in the range (Qwen3-VL, GLM-4V). `step` frames
// become one.
Grid SmartResizeFrames(int64_t frames, int64_t width, int64_t height, int64_t step, int64_t side,
                       int64_t least, int64_t most);

// Integers as Python's int() and round() make them of positive numbers.
int64_t Floor(double value);
int64_t RoundHalfEven(double value);
// Python's a // b.
double FloorDivide(double a, double b);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_MEDIA_RESIZE_H_
