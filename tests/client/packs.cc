#include "tests/client/packs.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/client/test_folder.h"

namespace evenkeel::cli {

Npy ReadNpyFile(const std::string& path) {
  const std::string bytes = ReadText(path);
  Npy npy;
  if (bytes.size() < 10 || bytes.compare(0, 8, std::string("\x93NUMPY\x01\x00", 8)) != 0) {
    ADD_FAILURE() << path << " is no .npy of format 1.0";
    return npy;
  }
  const size_t size = static_cast<unsigned char>(bytes[8]) |
                      static_cast<size_t>(static_cast<unsigned char>(bytes[9])) << 8;
  EXPECT_EQ((10 + size) % 64, 0u);
  npy.header = bytes.substr(10, size);
  EXPECT_EQ(npy.header.back(), '\n');
  npy.header.erase(npy.header.find_last_not_of(" \n") + 1);
  npy.values.resize((bytes.size() - 10 - size) / sizeof(int64_t));
  EXPECT_EQ((bytes.size() - 10 - size) % sizeof(int64_t), 0u);
  std::memcpy(npy.values.data(), bytes.data() + 10 + size, npy.values.size() * sizeof(int64_t));
  return npy;
}

SmallPacking::SmallPacking() {
  samples.units = {2, 2, 2, 9, 0, 0, 0};
  samples.tokens = {10, 10, 10, 10, 20, 20, 99};
  samples.parts = {{"data/a.json", 4}, {"data/b.json", 3}};
  start.mutable_rule()->set_unit_cap(4);
  start.mutable_rule()->set_token_cap(20);
  start.set_data_parallel(2);
  start.set_packs_per_rank(2);
  start.set_sequence_parallel_group(1);
  packed.offsets = {0, 2, 3, 4, 5, 6, 7};
  packed.members = {0, 1, 2, 3, 4, 5, 6};
  packed.order = {5, 1, 2, 3, 4, -1, 0, -1};
  v1::PackDatasetSummary& summary = packed.summary;
  *summary.mutable_rule() = start.rule();
  summary.mutable_rule()->set_packer(v1::PACKER_BALANCED);
  summary.mutable_rule()->set_order_window(1);
  summary.mutable_rule()->set_pack_count(6);
  summary.mutable_rule()->set_pack_count_lower_bound(6);
  summary.mutable_rule()->set_samples_per_pack(7.0 / 6);
  summary.mutable_rule()->set_oversize_sample_count(2);
  summary.set_lower_bound_method("volume");
  summary.set_sample_count(7);
  summary.set_step_count(2);
  summary.add_oversize_sample_index(3);
  summary.add_oversize_sample_index(6);
}

}  // namespace evenkeel::cli
