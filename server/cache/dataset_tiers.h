// Uploaded datasets: those in memory, backed by those that replicas share.
#ifndef EVENKEEL_SERVER_CACHE_DATASET_TIERS_H_
#define EVENKEEL_SERVER_CACHE_DATASET_TIERS_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "server/base/dataset_source.h"
#include "server/cache/shared_bytes.h"
#include "server/core/dataset_store.h"

namespace evenkeel::server {

// Thread-safe.
class DatasetTiers {
 public:
  // Returns true if the bytes are exactly those of the dataset with that reference.
  using IsDataset = std::function<bool(std::string_view ref, const std::string& bytes)>;

  // `shared` may be nullptr; `is_dataset` judges what comes from there. `memory` must outlive this
  // object.
  DatasetTiers(DatasetStore& memory, std::unique_ptr<SharedBytes> shared, IsDataset is_dataset)
      : memory_(memory), shared_(std::move(shared)), is_dataset_(std::move(is_dataset)) {}

  // Looks in memory only. Returns nullptr if the dataset is not there.
  DatasetBytes Find(std::string_view tenant, std::string_view ref);

  bool has_shared() const { return shared_ != nullptr; }

  enum class Fetched { kHere, kNowhere, kUnknown };
  // Fetches the dataset from the shared store into memory, waiting a few milliseconds. Returns
  // kUnknown if the store could not be asked.
  Fetched Fetch(std::string_view tenant, std::string_view ref);

  // Waits a few milliseconds until other replicas can find the dataset too, but does not promise
  // that they can. Returns false if the dataset is larger than the whole memory.
  bool Insert(std::string_view tenant, const std::string& ref, const std::string& bytes);

 private:
  DatasetStore& memory_;
  const std::unique_ptr<SharedBytes> shared_;
  const IsDataset is_dataset_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CACHE_DATASET_TIERS_H_
