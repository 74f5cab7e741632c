#include "server/cache/store_writer.h"

#include <utility>
#include <vector>

namespace evenkeel::server {

StoreWriter::StoreWriter(Settings settings, OnFault on_fault)
    : settings_(std::move(settings)), on_fault_(std::move(on_fault)) {
  Open();
  thread_ = std::thread([this] { Run(); });
}

StoreWriter::~StoreWriter() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  thread_.join();
}

void StoreWriter::Open() {
  std::string error;
  std::shared_ptr<PlanStore> opened = PlanStore::Open(
      settings_.path, settings_.budget_bytes, [this](const std::string& what) { OnSetAside(what); },
      &error);
  if (opened == nullptr) return Fault(error);
  const MutexLock lock(mutex_);
  store_ = std::move(opened);
  ok_ = true;
}

std::shared_ptr<PlanStore> StoreWriter::store() const {
  const MutexLock lock(mutex_);
  return store_;
}

bool StoreWriter::Find(std::string_view key, std::string* record) {
  const std::shared_ptr<PlanStore> store = this->store();
  if (store == nullptr) return false;
  std::string error;
  const PlanStore::Found found = store->Find(key, record, &error);
  if (found == PlanStore::Found::kDamaged) {
    Fault("plan store " + settings_.path + ": " + error);
    {
      const MutexLock lock(mutex_);
      damaged_ = true;
    }
    wake_.NotifyOne();
  }
  return found == PlanStore::Found::kYes;
}

void StoreWriter::Put(PlanEntry entry) {
  {
    const MutexLock lock(mutex_);
    const size_t bytes = entry.key.size() + entry.record.size();
    if (store_ == nullptr || queue_bytes_ + bytes > settings_.queue_bytes) {
      ++dropped_;
      return;
    }
    queue_bytes_ += bytes;
    queue_.push_back(std::move(entry));
  }
  wake_.NotifyOne();
}

void StoreWriter::Run() {
  MutexLock lock(mutex_);
  while (true) {
    const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return stopping_ || damaged_ || !queue_.empty();
    };
    if (store_ != nullptr) {
      wake_.Wait(lock, ready);
    } else if (!wake_.WaitFor(lock, settings_.retry, ready)) {
      lock.Unlock();
      Open();
      lock.Lock();
      continue;
    }
    if (std::exchange(damaged_, false) && store_ != nullptr) {
      const std::shared_ptr<PlanStore> store = store_;
      lock.Unlock();
      (void)Repair(store.get(), {});
      lock.Lock();
      continue;
    }
    if (queue_.empty()) return;
    std::deque<PlanEntry> batch = std::exchange(queue_, {});
    queue_bytes_ = 0;
    lock.Unlock();
    WriteBatch(std::move(batch));
    lock.Lock();
  }
}

// Sets damaged files aside and starts new ones.
LogFault StoreWriter::Repair(PlanStore* store, const LogFault& found) {
  if (!found.ok()) Fault("plan store " + settings_.path + ": " + found.text);
  const std::string error = store->Repair();
  if (error.empty()) {
    ok_ = true;
  } else {
    Fault("plan store " + settings_.path + ": " + error);
  }
  return {error};
}

void StoreWriter::WriteBatch(std::deque<PlanEntry> batch) {
  const std::vector<PlanEntry> entries(std::make_move_iterator(batch.begin()),
                                       std::make_move_iterator(batch.end()));
  const std::shared_ptr<PlanStore> store = this->store();
  LogFault fault = store->Write(entries);
  if (fault.damaged) {
    fault = Repair(store.get(), fault);
    if (fault.ok()) fault = store->Write(entries);
  }
  if (fault.ok()) {
    ok_ = true;
    return;
  }
  dropped_ += static_cast<int64_t>(entries.size());
  Fault("plan store " + settings_.path + ": " + fault.text);
}

void StoreWriter::OnSetAside(const std::string& what) {
  ++set_aside_;
  on_fault_(what);
}

// Counts every fault, and reports the first of several in a row.
void StoreWriter::Fault(const std::string& fault) {
  ++errors_;
  if (ok_.exchange(false) || errors_ == 1) on_fault_(fault);
}

}  // namespace evenkeel::server
