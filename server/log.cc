#include "server/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <iterator>
#include <memory>
#include <utility>

#include "server/base/visible_text.h"
#include "server/log_sink.h"

namespace evenkeel::server {
namespace {

constexpr size_t kMaxValueBytes = 1024;

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

// These two are never destroyed: threads that outlive main may still log.
std::shared_ptr<spdlog::logger>& Logger() {
  static auto* logger = new std::shared_ptr<spdlog::logger>();
  return *logger;
}

std::shared_ptr<BatchSink>& Sink() {
  static auto* sink = new std::shared_ptr<BatchSink>();
  return *sink;
}

// Appends text as JSON. Hidden characters are escaped, because names of callers and of files get
// here.
void AppendJsonText(std::string_view text, std::string* out) {
  *out += '"';
  for (text = text.substr(0, kMaxValueBytes); !text.empty();) {
    const CodePoint first = FirstCodePoint(text);
    if (text[0] == '"' || text[0] == '\\' || !first.valid) *out += '\\';
    *out += Visible(text.substr(0, first.bytes));
    text.remove_prefix(first.bytes);
  }
  *out += '"';
}

void AppendKey(const char* key, std::string* out) {
  *out += ",\"";
  *out += key;
  *out += "\":";
}

constexpr const char* kLevelNames[] = {"debug", "info", "warning", "error", "off"};

// The level as last set. It is kept here because the library has other levels.
std::atomic<LogLevel> level_in_force = LogLevel::kOff;

}  // namespace

const char* LogLevelName(LogLevel level) { return kLevelNames[static_cast<size_t>(level)]; }

std::optional<LogLevel> ParseLogLevel(std::string_view name) {
  for (size_t i = 0; i < std::size(kLevelNames); ++i) {
    if (name == kLevelNames[i]) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

void SetLogLevel(LogLevel least) {
  if (Logger() == nullptr) return;
  Logger()->set_level(ToSpdlog(least));
  level_in_force = least;
}

LogLevel GetLogLevel() { return level_in_force; }

uint64_t LogLinesDropped() { return Sink() == nullptr ? 0 : Sink()->dropped_total(); }

void StartLog(LogLevel least) {
  Sink() = std::make_shared<BatchSink>(STDERR_FILENO);
  auto logger = std::make_shared<spdlog::logger>("evenkeel", Sink());
  logger->set_formatter(std::make_unique<spdlog::pattern_formatter>(
      R"({"time":"%Y-%m-%dT%H:%M:%S.%fZ","level":"%l",%v})", spdlog::pattern_time_type::utc));
  logger->flush_on(spdlog::level::warn);
  Logger() = std::move(logger);
  SetLogLevel(least);
}

void StopLog() {
  if (Logger() == nullptr) return;
  Logger()->set_level(spdlog::level::off);
  Sink()->Stop();
}

bool LogLine::Wanted(LogLevel level) {
  return Logger() != nullptr && Logger()->should_log(ToSpdlog(level));
}

LogLine::LogLine(LogLevel level, std::string_view message) : level_(level), wanted_(Wanted(level)) {
  if (!wanted_) return;
  fields_ = "\"msg\":";
  AppendJsonText(message, &fields_);
}

LogLine::~LogLine() {
  if (wanted_) Logger()->log(ToSpdlog(level_), spdlog::string_view_t(fields_));
}

LogLine& LogLine::Add(const char* key, std::string_view value) {
  if (!wanted_) return *this;
  AppendKey(key, &fields_);
  AppendJsonText(value, &fields_);
  return *this;
}

LogLine& LogLine::Add(const char* key, int64_t value) {
  if (!wanted_) return *this;
  AppendKey(key, &fields_);
  fields_ += std::to_string(value);
  return *this;
}

LogLine& LogLine::Add(const char* key, double value) {
  if (!wanted_) return *this;
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed, 6);
  AppendKey(key, &fields_);
  fields_.append(text, end.ptr);
  return *this;
}

}  // namespace evenkeel::server
