// Structured log: one JSON object per line on standard error. Thread-safe. Never blocks: when the
// reader cannot keep up, new lines are dropped and counted (log_sink.h).
#ifndef EVENKEEL_SERVER_LOG_H_
#define EVENKEEL_SERVER_LOG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace evenkeel::server {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

// Parses "debug", "info", "warning", "error" or "off". Returns nullopt if there is no such level.
std::optional<LogLevel> ParseLogLevel(std::string_view name);
const char* LogLevelName(LogLevel level);

// Starts the log at this level. Call once, before any line and before threads are started. Nothing
// is written before.
void StartLog(LogLevel least);

// Changes the level from now on. Call between StartLog and StopLog.
void SetLogLevel(LogLevel least);
LogLevel GetLogLevel();  // returns kOff before StartLog

// Returns the number of lines lost so far because their reader did not keep up.
uint64_t LogLinesDropped();

// Writes pending lines. No line may follow.
void StopLog();

// Builds one line: LogLine(LogLevel::kInfo, "call").Add("method", "PlanJob"). It is written when
// the object is destroyed. Keys are plain identifiers; values may be anything.
class LogLine {
 public:
  LogLine(LogLevel level, std::string_view message);
  ~LogLine();
  LogLine(const LogLine&) = delete;
  LogLine& operator=(const LogLine&) = delete;

  LogLine& Add(const char* key, std::string_view value);
  LogLine& Add(const char* key, const char* value) { return Add(key, std::string_view(value)); }
  LogLine& Add(const char* key, int64_t value);
  LogLine& Add(const char* key, double value);

  // Returns true if a line of that level would be written. Saves computing expensive values.
  static bool Wanted(LogLevel level);

 private:
  const LogLevel level_;
  const bool wanted_;
  std::string fields_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LOG_H_
