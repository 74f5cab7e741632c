// Uploaded datasets: those in memory, backed by those that replicas share.
#ifndef EVENKEEL_SERVER_CACHE_DATASET_TIERS_H_
#define EVENKEEL_SERVER_CACHE_DATASET_TIERS_H_

#include <memory>
#include <string>
#include <string_view>

#include "server/base/dataset_source.h"
#include "server/cache/shared_bytes.h"
#include "server/core/dataset_store.h"

namespace evenkeel::server {

// Thread-safe.
class DatasetTiers {
 public:
  // `shared` may be nullptr. `memory` must outlive this object.
  DatasetTiers(DatasetStore& memory, std::unique_ptr<SharedBytes> shared)
      : memory_(memory), shared_(std::move(shared)) {}

  // Looks in memory only. Returns nullptr if the dataset is not there.
  DatasetBytes Find(std::string_view tenant, std::string_view ref);

  bool has_shared() const { return shared_ != nullptr; }

  enum class Fetched { kHere, kNowhere, kUnknown };
  // Fetches the dataset from the shared store into memory, waiting some milliseconds. kUnknown: the
  // store could not be asked.
  Fetched Fetch(std::string_view tenant, std::string_view ref);

  // Waits some milliseconds until other replicas can find the dataset too, but does not promise
  // that they can. Returns false if the dataset is larger than the whole memory.
  bool Insert(std::string_view tenant, const std::string& ref, const std::string& bytes);

 private:
  DatasetStore& memory_;
  const std::unique_ptr<SharedBytes> shared_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CACHE_DATASET_TIERS_H_
