#include "server/rpc/pack_dataset_stream.h"

#include <utility>

#include "evenkeel/v1/packing.pb.h"
#include "server/log.h"
#include "server/planning/keep_dataset.h"
#include "server/planning/plan_cost.h"
#include "server/rpc/errors.h"
#include "server/rpc/parse_request.h"
#include "server/rpc/wire.h"

namespace evenkeel::server {

struct PackDatasetStream::Held {
  Held(StreamQuota& quota, int64_t max_samples, StreamQuota::Lease taken, std::string of_tenant)
      : tenant(std::move(of_tenant)),
        lease(std::move(taken)),
        upload(max_samples, [this, &quota](int64_t bytes) {
          never = !quota.CanEverHold(bytes);
          return lease.Resize(bytes);
        }) {}

  // Packs the upload. Runs on a worker.
  void Pack(const PackDatasetParts& parts, const PackingCore::Stop& stop) {
    const int64_t samples = upload.sample_count();
    KeptDataset dataset;
    if (upload.keep_histogram()) dataset = KeepDataset(upload.lengths());
    if (stop()) return;
    auto result = parts.pack(upload.lengths(), upload.job(), stop);
    if (result.stopped) return;
    if (upload.keep_histogram() && !parts.datasets.Insert(tenant, dataset.ref, dataset.bytes)) {
      dataset.ref.clear();
    }
    upload.DropSamples();
    answer = std::make_unique<PackAnswer>(upload.job(), std::move(result), samples, dataset.ref,
                                          upload.summary_only());
    lease.Resize(PackBytes(0, 0) + answer->held_bytes());
  }

  const std::string tenant;
  // Declared before the memory that it covers, so that it is returned last.
  StreamQuota::Lease lease;
  bool never = false;  // the lease is too large even if it were the only one
  PackUpload upload;
  std::unique_ptr<PackAnswer> answer;
};

namespace {

// A stream that ends at once.
class RefusedStream final : public PackDatasetStream::Reactor {
 public:
  explicit RefusedStream(const grpc::Status& refusal) { Finish(refusal); }
  void OnDone() override { delete this; }
};

}  // namespace

PackDatasetStream::Reactor* PackDatasetStream::Begin(const PackDatasetParts& parts, RpcWorld& world,
                                                     grpc::CallbackServerContext* context) {
  grpc::Status refusal;
  auto scope = RpcScope::Admit(world, Method::kPackDataset, context, &refusal);
  if (scope == nullptr) return new RefusedStream(refusal);
  const auto stream = std::make_shared<PackDatasetStream>(parts, world, std::move(scope), context);
  stream->self_ = stream;
  stream->Open();
  return stream.get();
}

PackDatasetStream::PackDatasetStream(const PackDatasetParts& parts, RpcWorld& world,
                                     std::unique_ptr<RpcScope> scope,
                                     grpc::CallbackServerContext* context)
    : parts_(parts),
      world_(world),
      context_(context),
      scope_(std::move(scope)),
      waiting_since_(world.clock.Now()) {}

void PackDatasetStream::Open() {
  const RecursiveMutexLock lock(mutex_);
  if (parts_.core.refusing()) {
    world_.metrics.OnShed(ShedReason::kShuttingDown);
    return End(ShuttingDown());
  }
  StreamQuota::Lease lease = parts_.quota.Admit();
  if (!lease) {
    world_.metrics.OnShed(ShedReason::kPackStreams);
    return End(PackingBusy("streams"));
  }
  held_ = std::make_shared<Held>(parts_.quota, parts_.max_samples, std::move(lease),
                                 scope_->caller().tenant);
  parts_.sweeper.Add(weak_from_this());
  StartRead(&message_in_);
}

void PackDatasetStream::OnReadDone(bool ok) {
  const RecursiveMutexLock lock(mutex_);
  if (phase_ != Phase::kUploading) return;
  if (!ok) return EndUpload();
  world_.metrics.OnReceived(static_cast<size_t>(Method::kPackDataset));
  UploadEnd end = UploadEnd::kInvalid;
  std::vector<Violation> violations;
  {
    v1::PackDatasetRequest message;  // destroyed before the next message comes
    const grpc::Slice bytes = ToSlice(message_in_);
    message_in_.Clear();
    if (const grpc::Status parsed = ParseRequest(ViewOf(bytes), &message); !parsed.ok()) {
      return End(parsed);
    }
    end = held_->upload.Take(message, &violations);
  }
  if (end != UploadEnd::kTaken) return End(UploadStatus(end, violations));
  waiting_since_ = world_.clock.Now();
  StartRead(&message_in_);
}

void PackDatasetStream::EndUpload() {
  if (context_->IsCancelled()) return End(CancelStatus());
  std::vector<Violation> violations;
  const UploadEnd end = held_->upload.Finish(&violations);
  if (end != UploadEnd::kTaken) return End(UploadStatus(end, violations));
  phase_ = Phase::kPacking;
  ticket_ = parts_.core.Run(
      held_->upload.sample_count(),
      [held = held_, &parts = parts_](const PackingCore::Stop& stop) { held->Pack(parts, stop); },
      [self = shared_from_this()](PackingEnd ending, const std::string& fault) {
        self->OnPackingEnd(ending, fault);
      },
      scope_->terms(PackingCost(held_->upload.sample_count())));
}

void PackDatasetStream::OnPackingEnd(PackingEnd end, const std::string& fault) {
  const RecursiveMutexLock lock(mutex_);
  if (phase_ != Phase::kPacking) return;
  switch (end) {
    case PackingEnd::kDone:
      if (held_->answer == nullptr) return End(CancelStatus());
      phase_ = Phase::kAnswering;
      return WriteNext();
    case PackingEnd::kCancelled:
      return End(CancelStatus());
    case PackingEnd::kShuttingDown:
      return End(ShuttingDown());
    case PackingEnd::kQueueFull:
      return End(PackingBusy("streams"));
    case PackingEnd::kExpired:
      return End(DeadlineExceeded());
    case PackingEnd::kDefect:
      LogLine(LogLevel::kError, "planner defect")
          .Add("request_id", scope_->request_id())
          .Add("fault", fault);
      return End(PlannerDefect(scope_->request_id()));
  }
}

void PackDatasetStream::WriteNext() {
  v1::PackDatasetResponse message;
  if (!held_->answer->Next(&message)) return End(grpc::Status::OK);
  message_out_ = ToByteBuffer(message.SerializeAsString());
  waiting_since_ = world_.clock.Now();
  StartWrite(&message_out_);
}

void PackDatasetStream::OnWriteDone(bool ok) {
  const RecursiveMutexLock lock(mutex_);
  message_out_.Clear();
  if (phase_ != Phase::kAnswering) return;
  if (!ok) return End(CancelStatus());
  world_.metrics.OnSent(static_cast<size_t>(Method::kPackDataset));
  WriteNext();
}

void PackDatasetStream::OnCancel() {
  const RecursiveMutexLock lock(mutex_);
  if (phase_ == Phase::kUploading) End(CancelStatus());
  if (phase_ == Phase::kPacking) parts_.core.Cancel(ticket_);
  // In kAnswering, the pending write fails.
}

void PackDatasetStream::OnSweep() {
  const RecursiveMutexLock lock(mutex_);
  const double waited = SecondsBetween(waiting_since_, world_.clock.Now());
  if (parts_.idle_timeout_seconds == 0 || waited < parts_.idle_timeout_seconds) return;
  if (phase_ == Phase::kUploading) return End(StreamStalled(parts_.idle_timeout_seconds));
  if (phase_ != Phase::kAnswering || stalled_) return;
  stalled_ = true;
  context_->TryCancel();  // a status would have to wait for the write
}

void PackDatasetStream::End(const grpc::Status& status) {
  if (phase_ == Phase::kEnded) return;
  phase_ = Phase::kEnded;
  held_.reset();
  scope_->End(status);
  Finish(status);
}

void PackDatasetStream::OnDone() {
  const std::shared_ptr<PackDatasetStream> self = std::move(self_);  // destroyed after the lock
  const RecursiveMutexLock lock(mutex_);
  ticket_.reset();
  scope_.reset();
}

grpc::Status PackDatasetStream::UploadStatus(UploadEnd end,
                                             const std::vector<Violation>& violations) const {
  if (end == UploadEnd::kInvalid) return InvalidRequest(violations);
  if (end == UploadEnd::kTooLarge) {
    return UploadTooLarge({"--pack-max-samples", parts_.max_samples, "samples"});
  }
  if (held_->never)
    return UploadTooLarge({"--pack-memory-bytes", parts_.quota.max_bytes(), "bytes"});
  world_.metrics.OnShed(ShedReason::kPackMemory);
  return PackingBusy("memory");
}

grpc::Status PackDatasetStream::CancelStatus() const {
  if (stalled_) return StreamStalled(parts_.idle_timeout_seconds);
  return scope_->deadline_passed() ? DeadlineExceeded() : Cancelled();
}

}  // namespace evenkeel::server
