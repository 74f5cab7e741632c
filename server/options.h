// Every setting of the server: flags, environment and defaults. They are all defined in the table
// in options.cc.
#ifndef EVENKEEL_SERVER_OPTIONS_H_
#define EVENKEEL_SERVER_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "server/log.h"
#include "server/tracing/otlp_settings.h"

namespace evenkeel::server {

struct Options {
  std::vector<std::string> listen;       // HOST:PORT or unix:/path
  std::string metrics_address;           // HOST:PORT, or "off"
  std::string admin_address;             // unix:/path, HOST:PORT of loopback, or "off"
  int64_t workers = 0;                   // planning threads; 0 for one per CPU
  int64_t queue_length = 0;              // computations that may wait
  double max_plan_seconds = 0;           // limit for one computation
  int64_t cache_bytes = 0;               // limit on stored plans
  int64_t memo_bytes = 0;                // limit on remembered requests
  int64_t max_request_bytes = 0;         // limit on one message
  int64_t max_concurrent_streams = 0;    // per connection
  int64_t memory_quota_bytes = 0;        // limit on gRPC's buffers; 0 for no quota
  int64_t pack_workers = 0;              // packing threads; 0 for half the number of workers
  int64_t pack_max_samples = 0;          // limit on one upload
  int64_t pack_max_streams = 0;          // PackDataset calls at a time
  int64_t pack_memory_bytes = 0;         // limit for all of them together
  double pack_idle_timeout_seconds = 0;  // for the caller to send or take a message
  int64_t dataset_bytes = 0;             // limit on datasets kept for dataset_ref
  std::string plan_store;                // path, "auto" or "off"
  int64_t plan_store_bytes = 0;          // limit on plans on disk
  std::string profile_store;             // path, "auto", "off", "redis" or redis://...
  bool profile_redis_trust = false;      // the operator vouches for that Redis
  std::string profile_redis_password;    // file, or "off"
  std::string redis;                     // address of the shared plan tier, or "off"
  std::string redis_password;            // file, or "off"
  double redis_timeout_seconds = 0;      // budget of one of its look-ups
  std::string redis_tls_ca;              // path, or "system"
  std::string redis_tls_cert;            // path, or "off"; redis_tls_key too
  std::string redis_tls_key;
  double drain_timeout_seconds = 0;       // for calls in flight, after SIGTERM
  double keepalive_time_seconds = 0;      // silence before the server pings
  double keepalive_timeout_seconds = 0;   // for the answer to the ping
  double min_ping_interval_seconds = 0;   // least time between pings of a client
  double max_connection_age_seconds = 0;  // 0 for no limit
  // For the calls of a connection that has reached that age.
  double max_connection_age_grace_seconds = 0;

  // The listener.
  double max_connection_idle_seconds = 0;  // time without calls; 0 for no limit
  double handshake_timeout_seconds = 0;    // limit for a new connection
  int64_t max_connections = 0;             // live connections; 0 for what descriptors allow
  bool allow_plaintext = false;            // on addresses that other machines can reach
  std::string tls_cert;                    // path, or "off"; the settings below too
  std::string tls_key;
  std::string tls_client_ca;
  std::string tls_crl_dir;
  double tls_reload_seconds = 0;   // time between checks of those files
  double self_probe_seconds = 0;   // 0 for off
  double drain_delay_seconds = 0;  // time after SIGTERM before the sockets close

  bool reflection = false;
  std::string auth_policy;    // path, or "off"
  std::string otlp_endpoint;  // URL, "environment" or "off"
  OtlpSettings traces;        // from otlp_endpoint and the environment
  LogLevel log_level = LogLevel::kInfo;

  // Settings that differ from their default, as flag and text, such as {"--workers", "2"}. For the
  // status page.
  std::vector<std::pair<std::string, std::string>> changed;
};

// One row of the table.
struct Setting {
  const char* name;  // "queue-length": flag --queue-length, environment EVENKEEL_QUEUE_LENGTH
  const char* default_text;
  const char* help;
  // Sets the field. Returns "" on success, otherwise the accepted values.
  std::string (*apply)(const std::string& text, Options* options);
};

// Returns the file for `setting` (a path, "auto" or "off"). "auto" means `name` in
// $STATE_DIRECTORY, or in /var/lib/evenkeel if that folder exists. Returns "" for no file.
std::string StatePath(const std::string& setting, const std::string& name);

std::span<const Setting> Settings();

// Maps "queue-length" to "EVENKEEL_QUEUE_LENGTH".
std::string EnvironmentName(const Setting& setting);

struct ParsedOptions {
  Options options;
  bool run = false;   // start the server
  int exit_code = 0;  // if not, exit with this: 0, or 2 for wrong settings
  std::string text;   // and print this: to standard output for 0, otherwise to standard error
};

// Parses the settings. A flag overrides the environment, which overrides the default. Reports
// everything that is wrong at once.
ParsedOptions ParseOptions(int argc, const char* const* argv);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_OPTIONS_H_
