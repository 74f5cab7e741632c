#include "server/tracing/otlp_sender.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include "server/tracing/otlp.grpc.pb.h"

namespace evenkeel::server {
namespace {

namespace otlp = opentelemetry::proto::collector::trace::v1;

constexpr int kLongestPauseMilliseconds = 5000;  // between two attempts to connect

std::string BytesOf(const std::string& digits) {
  std::string bytes(digits.size() / 2, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    unsigned char byte = 0;
    std::from_chars(&digits[2 * i], &digits[2 * i] + 2, byte, 16);
    bytes[i] = static_cast<char>(byte);
  }
  return bytes;
}

void Set(const std::string& key, const AttributeValue& value, otlp::KeyValue* pair) {
  pair->set_key(key);
  if (const auto* text = std::get_if<std::string>(&value)) {
    pair->mutable_value()->set_string_value(*text);
  } else {
    pair->mutable_value()->set_int_value(std::get<int64_t>(value));
  }
}

void Fill(const SpanRecord& from, otlp::Span* span) {
  span->set_trace_id(BytesOf(from.trace_id));
  span->set_span_id(BytesOf(from.span_id));
  span->set_parent_span_id(BytesOf(from.parent_id));
  span->set_name(from.name);
  span->set_kind(from.is_server ? otlp::SPAN_KIND_SERVER : otlp::SPAN_KIND_INTERNAL);
  span->set_start_time_unix_nano(static_cast<uint64_t>(from.start_unix_ns));
  span->set_end_time_unix_nano(static_cast<uint64_t>(from.end_unix_ns));
  for (const auto& [key, value] : from.attributes) Set(key, value, span->add_attributes());
  if (!from.is_error) return;
  span->mutable_status()->set_code(otlp::STATUS_CODE_ERROR);
  span->mutable_status()->set_message(from.error);
}

// Codes after which OTLP lets a sender try again.
bool IsWorthAnotherTry(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::OUT_OF_RANGE:
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DATA_LOSS:
      return true;
    default:
      return false;
  }
}

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// Reads a file unless its path is empty. Returns false if it cannot be read.
bool ReadPem(const std::string& path, std::string* text, std::string* error) {
  if (path.empty()) return true;
  std::ifstream file(path, std::ios::binary);
  text->assign(std::istreambuf_iterator<char>(file), {});
  if (!file.is_open() || text->empty()) *error = "OTLP: " + path + " cannot be read";
  return error->empty();
}

std::shared_ptr<grpc::ChannelCredentials> Credentials(const OtlpSettings& settings,
                                                      std::string* error) {
  if (!settings.tls) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  const bool is_read = ReadPem(settings.ca, &options.pem_root_certs, error) &&
                       ReadPem(settings.certificate, &options.pem_cert_chain, error) &&
                       ReadPem(settings.key, &options.pem_private_key, error);
  return is_read ? grpc::SslCredentials(options) : nullptr;
}

class OtlpSender {
 public:
  OtlpSender(const OtlpSettings& settings, const std::string& version,
             const std::shared_ptr<grpc::ChannelCredentials>& credentials)
      : settings_(settings), version_(version) {
    for (const auto& [key, value] : settings.attributes)
      Set(key, value, resource_.add_attributes());
    Set("service.version", version, resource_.add_attributes());
    Set("host.name", HostName(), resource_.add_attributes());
    Set("process.pid", int64_t{getpid()}, resource_.add_attributes());
    grpc::ChannelArguments arguments;
    if (settings.gzip) arguments.SetCompressionAlgorithm(GRPC_COMPRESS_GZIP);
    // A receiver that comes back is found soon: the tracer's pauses keep attempts rare enough.
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestPauseMilliseconds);
    arguments.SetUserAgentPrefix("evenkeel-server/" + version);
    stub_ = otlp::TraceService::NewStub(
        grpc::CreateCustomChannel(settings.target, credentials, arguments));
  }

  Tracer::Sent Send(const std::vector<SpanRecord>& batch, std::chrono::milliseconds timeout) {
    otlp::ExportTraceServiceRequest request;
    otlp::ResourceSpans* const all = request.add_resource_spans();
    *all->mutable_resource() = resource_;
    otlp::ScopeSpans* const ours = all->add_scope_spans();
    ours->mutable_scope()->set_name("evenkeel");
    ours->mutable_scope()->set_version(version_);
    for (const SpanRecord& span : batch) Fill(span, ours->add_spans());
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    for (const auto& [key, value] : settings_.headers) context.AddMetadata(key, value);
    otlp::ExportTraceServiceResponse response;
    const grpc::Status status = stub_->Export(&context, request, &response);
    Tracer::Sent sent;
    sent.ok = status.ok();
    sent.again = IsWorthAnotherTry(status.error_code());
    sent.refused =
        static_cast<size_t>(std::max<int64_t>(0, response.partial_success().rejected_spans()));
    if (!sent.ok) {
      sent.why = settings_.target + ": " + status.error_message();
    } else if (sent.refused > 0) {
      sent.why = settings_.target + " refused spans: " + response.partial_success().error_message();
    }
    return sent;
  }

 private:
  const OtlpSettings settings_;
  const std::string version_;
  otlp::Resource resource_;
  std::unique_ptr<otlp::TraceService::Stub> stub_;
};

}  // namespace

Tracer::Send MakeOtlpSender(const OtlpSettings& settings, const std::string& version,
                            std::string* error) {
  const auto credentials = Credentials(settings, error);
  if (credentials == nullptr) return {};
  return [sender = std::make_shared<OtlpSender>(settings, version, credentials)](
             const std::vector<SpanRecord>& batch, std::chrono::milliseconds timeout) {
    return sender->Send(batch, timeout);
  };
}

}  // namespace evenkeel::server
