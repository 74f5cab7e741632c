#include "server/tracing/otlp_settings.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace evenkeel::server {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

constexpr char kUnnamed[] = "evenkeel-server";
constexpr char kAddressForms[] =
    "must be http://HOST[:PORT], https://HOST[:PORT], HOST:PORT or unix:/path";
constexpr char kDefaultPort[] = ":4317";

// Reads OpenTelemetry's variables. The first problem stays.
class Reader {
 public:
  explicit Reader(const Environment& environment) : environment_(environment) {}

  // Returns "" if it is unset; OpenTelemetry makes no difference between the two.
  std::string Text(const std::string& name) const {
    const char* const value = environment_(name.c_str());
    return value == nullptr ? "" : value;
  }

  // Returns the variable of traces, or else that of all signals. *name is the name of the one that
  // is set.
  std::string Exporter(const std::string& what, std::string* name) const {
    *name = "OTEL_EXPORTER_OTLP_TRACES_" + what;
    const std::string own = Text(*name);
    if (!own.empty()) return own;
    *name = "OTEL_EXPORTER_OTLP_" + what;
    return Text(*name);
  }
  std::string Exporter(const std::string& what) const {
    std::string name;
    return Exporter(what, &name);
  }

  bool Flag(const std::string& name, const std::string& text) {
    std::string lower = text;
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (!lower.empty() && lower != "true" && lower != "false") {
      Refuse(name + " must be true or false");
    }
    return lower == "true";
  }

  // Returns a whole number from 1 to `max`, or `unset`.
  int64_t Whole(const std::string& name, const std::string& text, int64_t max, int64_t unset) {
    if (text.empty()) return unset;
    int64_t value = 0;
    const auto end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (read.ec == std::errc() && read.ptr == end && value >= 1 && value <= max) return value;
    Refuse(name + " must be a whole number from 1 to " + std::to_string(max));
    return unset;
  }

  void Refuse(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }
  const std::string& problem() const { return problem_; }

 private:
  const Environment& environment_;
  std::string problem_;
};

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Returns nullopt for a '%' without two hexadecimal digits.
std::optional<std::string> WithoutPercents(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] != '%') {
      plain += text[i];
    } else if (i + 2 < text.size() &&
               std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      plain += static_cast<char>(byte);
      i += 2;
    } else {
      return std::nullopt;
    }
  }
  return plain;
}

// Parses KEY=VALUE,KEY=VALUE, where values may contain %XX.
bool ParsePairs(std::string_view text, Pairs* pairs) {
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view pair = Trimmed(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return false;
    const auto value = WithoutPercents(Trimmed(pair.substr(equals + 1)));
    const std::string_view key = Trimmed(pair.substr(0, equals));
    if (key.empty() || !value) return false;
    pairs->emplace_back(key, *value);
  }
  return true;
}

// gRPC ends the process when metadata has other characters.
bool IsMetadata(const std::pair<std::string, std::string>& header) {
  const auto in_key = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  };
  const auto in_value = [](char c) { return c >= ' ' && c <= '~'; };
  return std::all_of(header.first.begin(), header.first.end(), in_key) &&
         std::all_of(header.second.begin(), header.second.end(), in_value) &&
         !header.first.starts_with("grpc-") && !header.first.ends_with("-bin");
}

bool IsPort(std::string_view text) {
  int port = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), port);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() && port >= 1 &&
         port <= 65535;
}

// Sets target and TLS. `is_insecure` is for addresses without a scheme.
bool ParseAddress(std::string text, bool is_insecure, OtlpSettings* settings) {
  settings->target = text;
  if (text.starts_with("unix:/")) return true;
  settings->tls = text.starts_with("https://") || (text.find("://") == text.npos && !is_insecure);
  const bool has_scheme = text.starts_with("http://") || text.starts_with("https://");
  if (has_scheme) text = text.substr(text.find("://") + 3);
  if (has_scheme && text.ends_with('/')) text.pop_back();
  const size_t colon = text.rfind(':');
  const bool has_port = colon != text.npos && text.find(']', colon) == text.npos;
  const std::string host = text.substr(0, has_port ? colon : text.npos);
  settings->target = has_port ? text : text + kDefaultPort;
  return !host.empty() && host.find_first_of("/@? ") == host.npos &&
         (host.find(':') == host.npos || (host.starts_with('[') && host.ends_with(']'))) &&
         (has_port ? IsPort(text.substr(colon + 1)) : has_scheme);
}

void ReadHeaders(Reader& reader, OtlpSettings* settings) {
  std::string name;
  const std::string text = reader.Exporter("HEADERS", &name);
  bool is_good = ParsePairs(text, &settings->headers);
  for (auto& header : settings->headers) {
    for (char& c : header.first) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    is_good = is_good && IsMetadata(header);
  }
  if (!is_good) reader.Refuse(name + " must be KEY=VALUE,... with keys and values of metadata");
}

void ReadAttributes(Reader& reader, OtlpSettings* settings) {
  Pairs given;
  if (!ParsePairs(reader.Text("OTEL_RESOURCE_ATTRIBUTES"), &given)) {
    reader.Refuse("OTEL_RESOURCE_ATTRIBUTES must be KEY=VALUE,...");
  }
  std::string service = reader.Text("OTEL_SERVICE_NAME");
  for (const auto& [key, value] : given) {
    if (key != "service.name") settings->attributes.emplace_back(key, value);
    if (key == "service.name" && service.empty()) service = value;
  }
  settings->attributes.emplace_back("service.name", service.empty() ? kUnnamed : service);
}

void ReadTracer(Reader& reader, Tracer::Settings* tracer) {
  constexpr int64_t kMostSpans = 1'000'000, kMostMilliseconds = 3'600'000;
  const auto whole = [&](const std::string& name, int64_t max, auto unset) {
    return reader.Whole(name, reader.Text(name), max, static_cast<int64_t>(unset));
  };
  std::string name = reader.Text("OTEL_TRACES_SAMPLER");
  reader.Refuse(ParseSampler(name.empty() ? "parentbased_always_on" : name,
                             reader.Text("OTEL_TRACES_SAMPLER_ARG"), &tracer->sampler));
  tracer->queue_length =
      static_cast<size_t>(whole("OTEL_BSP_MAX_QUEUE_SIZE", kMostSpans, tracer->queue_length));
  tracer->batch_length = static_cast<size_t>(
      whole("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", kMostSpans, tracer->batch_length));
  if (tracer->batch_length > tracer->queue_length) {
    reader.Refuse("OTEL_BSP_MAX_EXPORT_BATCH_SIZE must be at most OTEL_BSP_MAX_QUEUE_SIZE");
  }
  tracer->interval = std::chrono::milliseconds(
      whole("OTEL_BSP_SCHEDULE_DELAY", kMostMilliseconds, tracer->interval.count()));
  const std::string timeout = reader.Exporter("TIMEOUT", &name);
  tracer->timeout = std::chrono::milliseconds(
      reader.Whole(name, timeout, kMostMilliseconds, tracer->timeout.count()));
}

void ReadTransport(Reader& reader, OtlpSettings* settings) {
  std::string name;
  const std::string protocol = reader.Exporter("PROTOCOL", &name);
  if (!protocol.empty() && protocol != "grpc") {
    reader.Refuse(name + " must be grpc: set it, or switch traces off (--otlp-endpoint=off)");
  }
  const std::string compression = reader.Exporter("COMPRESSION", &name);
  settings->gzip = compression == "gzip";
  if (!compression.empty() && compression != "gzip" && compression != "none") {
    reader.Refuse(name + " must be gzip or none");
  }
  settings->ca = reader.Exporter("CERTIFICATE");
  settings->certificate = reader.Exporter("CLIENT_CERTIFICATE");
  settings->key = reader.Exporter("CLIENT_KEY");
  if (settings->certificate.empty() != settings->key.empty()) {
    reader.Refuse(
        "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY belong together");
  }
}

}  // namespace

std::string ReadOtlpSettings(const std::string& endpoint, const Environment& environment,
                             OtlpSettings* settings) {
  *settings = OtlpSettings();
  Reader reader(environment);
  if (endpoint == "off") return "";
  std::string address = endpoint, name = "--otlp-endpoint";
  if (endpoint == "environment") {
    const std::string exporter = reader.Text("OTEL_TRACES_EXPORTER");
    const bool is_disabled = reader.Flag("OTEL_SDK_DISABLED", reader.Text("OTEL_SDK_DISABLED"));
    address = reader.Exporter("ENDPOINT", &name);
    if (is_disabled || exporter == "none" || address.empty()) return reader.problem();
    if (!exporter.empty() && exporter != "otlp") {
      reader.Refuse("OTEL_TRACES_EXPORTER must be otlp or none");
    }
  }
  std::string insecure_name;
  const std::string insecure = reader.Exporter("INSECURE", &insecure_name);
  if (!ParseAddress(address, reader.Flag(insecure_name, insecure), settings)) {
    reader.Refuse(name + " " + kAddressForms);
  }
  ReadTransport(reader, settings);
  ReadHeaders(reader, settings);
  ReadAttributes(reader, settings);
  ReadTracer(reader, &settings->tracer);
  return reader.problem();
}

}  // namespace evenkeel::server
