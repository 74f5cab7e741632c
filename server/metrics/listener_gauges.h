// The figures that the listener reports to the metrics.
#ifndef EVENKEEL_SERVER_METRICS_LISTENER_GAUGES_H_
#define EVENKEEL_SERVER_METRICS_LISTENER_GAUGES_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace evenkeel::server {

// Why a connection was closed as soon as it was accepted.
enum class ShedConnection { kLimit, kNoDescriptor, kNotAllowed };
inline constexpr size_t kShedConnections = 3;

// Certificates on disk, as of the last check.
struct TlsGauges {
  bool is_on = false;
  bool files_ok = false;           // the files on disk are those in use
  uint64_t reloads = 0;            // new certificates put into use
  uint64_t reload_failures = 0;    // checks that found unusable files
  double expiry_unix_seconds = 0;  // expiry of the certificate in use
};

struct ListenerGauges {
  size_t connections = 0;
  size_t connections_at_most = 0;
  std::array<uint64_t, kShedConnections> shed{};
  uint64_t cut = 0;  // connections that were cut off later (rapid reset)
  uint64_t probe_failures = 0;
  TlsGauges tls;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_METRICS_LISTENER_GAUGES_H_
