// .npy files read back, and a small dataset packed by hand.
#ifndef EVENKEEL_TESTS_CLIENT_PACKS_H_
#define EVENKEEL_TESTS_CLIENT_PACKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/dataset/packed_dataset.h"
#include "client/cli/dataset/sample_lengths.h"
#include "evenkeel/v1/packing.pb.h"

namespace evenkeel::cli {

struct Npy {
  std::string header;  // the dictionary, without the blanks that pad it
  std::vector<int64_t> values;
};
// Reads only format 1.0 of int64. Fails the test for anything else.
Npy ReadNpyFile(const std::string& path);

// A dataset of two files: samples 0 to 3 (two units, 10 tokens each) and 4 to 6 (20 tokens). The
// last sample of each file is beyond the caps (4 units, 20 tokens). The packs are {0, 1}, {2}, {3},
// {4}, {5}, {6}. Two ranks with two packs each make one whole step and one step of two packs.
struct SmallPacking {
  SmallPacking();

  SampleLengths samples;
  v1::PackDatasetStart start;
  PackedDataset packed;
};

}  // namespace evenkeel::cli

#endif  // EVENKEEL_TESTS_CLIENT_PACKS_H_
