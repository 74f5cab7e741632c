#include "server/metrics/process_collector.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "server/metrics/families.h"

namespace evenkeel::server {
namespace {

using prometheus::MetricType;

// Contents of /proc/self/stat, in seconds and bytes.
struct ProcessStat {
  double cpu_seconds = 0;
  double start_seconds_after_boot = 0;
  double virtual_bytes = 0;
  double resident_bytes = 0;
};

std::optional<ProcessStat> ReadStat() {
  std::ifstream file("/proc/self/stat");
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  // The second field is the program's name in parentheses, and may contain anything.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(name_end + 1));
  std::vector<std::string> fields{"pid", "name"};
  for (std::string field; rest >> field;) fields.push_back(field);
  if (fields.size() < 24) return std::nullopt;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  ProcessStat stat;
  stat.cpu_seconds = (std::stod(fields[13]) + std::stod(fields[14])) / ticks;
  stat.start_seconds_after_boot = std::stod(fields[21]) / ticks;
  stat.virtual_bytes = std::stod(fields[22]);
  stat.resident_bytes = std::stod(fields[23]) * static_cast<double>(sysconf(_SC_PAGESIZE));
  return stat;
}

std::optional<double> ReadBootTime() {
  std::ifstream file("/proc/stat");
  for (std::string key; file >> key; file.ignore(1 << 20, '\n')) {
    double seconds = 0;
    if (key == "btime" && file >> seconds) return seconds;
  }
  return std::nullopt;
}

std::optional<double> CountOpenFiles() {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return std::nullopt;
  double count = 0;
  while (const dirent* entry = readdir(folder)) count += entry->d_name[0] == '.' ? 0 : 1;
  closedir(folder);
  return count - 1;  // without the folder itself
}

}  // namespace

std::vector<prometheus::MetricFamily> ProcessCollector::Collect() const {
  std::vector<prometheus::MetricFamily> families;
  const auto add = [&families](const char* name, const char* help, MetricType type, double value) {
    families.push_back(SingleMetric(name, help, type, {}, value));
  };
  if (const auto stat = ReadStat()) {
    add("process_cpu_seconds_total", "CPU time of the process, user and system.",
        MetricType::Counter, stat->cpu_seconds);
    add("process_resident_memory_bytes", "Resident memory.", MetricType::Gauge,
        stat->resident_bytes);
    add("process_virtual_memory_bytes", "Virtual memory.", MetricType::Gauge, stat->virtual_bytes);
    if (const auto boot = ReadBootTime()) {
      add("process_start_time_seconds", "Start of the process since the Unix epoch.",
          MetricType::Gauge, *boot + stat->start_seconds_after_boot);
    }
  }
  if (const auto open = CountOpenFiles()) {
    add("process_open_fds", "Open file descriptors.", MetricType::Gauge, *open);
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    add("process_max_fds", "Maximum number of open file descriptors.", MetricType::Gauge,
        static_cast<double>(limit.rlim_cur));
  }
  return families;
}

}  // namespace evenkeel::server
