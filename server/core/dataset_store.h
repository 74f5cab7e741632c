// Datasets that PackDataset left behind, bounded by bytes. Thread-safe.
#ifndef EVENKEEL_SERVER_CORE_DATASET_STORE_H_
#define EVENKEEL_SERVER_CORE_DATASET_STORE_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "server/convert/dataset_source.h"
#include "server/core/byte_lru.h"

namespace evenkeel::server {

struct StoreCounters {
  uint64_t evictions = 0, bytes = 0, entries = 0;
};

class DatasetStore {
 public:
  explicit DatasetStore(size_t capacity_bytes) : lru_(capacity_bytes) {}

  // nullptr: never stored, or evicted since.
  DatasetBytes Find(std::string_view ref);

  // False: larger than the whole store.
  bool Insert(const std::string& ref, std::string bytes);

  StoreCounters counters() const;

 private:
  mutable std::mutex mutex_;
  ByteLru<DatasetBytes> lru_;
  uint64_t evictions_ = 0;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_DATASET_STORE_H_
