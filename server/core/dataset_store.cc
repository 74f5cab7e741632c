#include "server/core/dataset_store.h"

#include <memory>
#include <utility>

namespace evenkeel::server {

DatasetBytes DatasetStore::Find(std::string_view ref) {
  const MutexLock lock(mutex_);
  const DatasetBytes* found = lru_.Find(ref);
  return found == nullptr ? nullptr : *found;
}

bool DatasetStore::Insert(const std::string& ref, std::string bytes) {
  const MutexLock lock(mutex_);
  if (lru_.Find(ref) != nullptr) return true;
  const size_t size = bytes.size();
  if (!lru_.Admits(ref, size)) return false;
  evictions_ +=
      lru_.Insert(ref, std::make_shared<const std::string>(std::move(bytes)), size).size();
  return true;
}

StoreCounters DatasetStore::counters() const {
  const MutexLock lock(mutex_);
  return {evictions_, lru_.bytes(), lru_.size()};
}

}  // namespace evenkeel::server
