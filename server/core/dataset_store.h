// Datasets that PackDataset kept, bounded by bytes. Thread-safe.
#ifndef EVENKEEL_SERVER_CORE_DATASET_STORE_H_
#define EVENKEEL_SERVER_CORE_DATASET_STORE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/base/dataset_source.h"
#include "server/base/mutex.h"
#include "server/core/byte_lru.h"

namespace evenkeel::server {

struct StoreCounters {
  uint64_t evictions = 0, bytes = 0, entries = 0;
};

class DatasetStore {
 public:
  explicit DatasetStore(size_t capacity_bytes) : lru_(capacity_bytes) {}

  // Returns nullptr if the dataset was never stored, or has been evicted since.
  DatasetBytes Find(std::string_view ref);

  // Returns false if the dataset is larger than the whole store.
  bool Insert(const std::string& ref, std::string bytes);

  StoreCounters counters() const;

 private:
  mutable Mutex mutex_;
  ByteLru<DatasetBytes> lru_ ABSL_GUARDED_BY(mutex_);
  uint64_t evictions_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_DATASET_STORE_H_
