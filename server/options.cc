#include "server/options.h"

#include <absl/strings/str_join.h>

#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>

#include "planner/base/name_search.h"
#include "server/admin/admin_address.h"
#include "server/listen.h"
#include "server/redis/redis_address.h"

namespace evenkeel::server {
namespace {

constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kGiB = kMiB << 10;
constexpr int kExitWrongSettings = 2;
constexpr char kStateFolder[] = "/var/lib/evenkeel";

template <typename Number>
bool ParseNumber(const std::string& text, Number* value) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, *value);
  return result.ec == std::errc() && result.ptr == end;
}

// Reads a whole number from kMin to kMax into a field.
template <int64_t Options::*kField, int64_t kMin, int64_t kMax>
std::string Whole(const std::string& text, Options* options) {
  int64_t value = 0;
  if (!ParseNumber(text, &value) || value < kMin || value > kMax) {
    return "must be a whole number from " + std::to_string(kMin) + " to " + std::to_string(kMax);
  }
  options->*kField = value;
  return {};
}

// Reads seconds from kMin to kMax into a field; fractions are allowed.
template <double Options::*kField, int64_t kMin, int64_t kMax>
std::string Seconds(const std::string& text, Options* options) {
  double value = 0;
  if (!ParseNumber(text, &value) || !(value >= kMin && value <= kMax)) {
    return "must be a number of seconds from " + std::to_string(kMin) + " to " +
           std::to_string(kMax);
  }
  options->*kField = value;
  return {};
}

std::string Listen(const std::string& text, Options* options) {
  options->listen.clear();
  std::istringstream all(text);
  for (std::string address; std::getline(all, address, ',');) {
    const std::string problem = CheckListenAddress(address);
    if (!problem.empty()) return "\"" + address + "\" " + problem;
    options->listen.push_back(address);
  }
  return options->listen.empty() ? "needs at least one address" : std::string();
}

std::string MetricsAddress(const std::string& text, Options* options) {
  options->metrics_address = text;
  const std::string problem = text == "off" ? std::string() : CheckTcpAddress(text);
  return problem.empty() ? problem : problem + ", or off";
}

std::string AdminAddress(const std::string& text, Options* options) {
  options->admin_address = text;
  const std::string problem = text == "off" ? std::string() : CheckAdminAddress(text);
  return problem.empty() ? problem : problem + ", or off";
}

template <std::string Options::*kField>
std::string StorePath(const std::string& text, Options* options) {
  options->*kField = text;
  return text.empty() || text.back() == '/' ? "must be the path of a file, auto or off" : "";
}

std::string ProfileStorePath(const std::string& text, Options* options) {
  options->profile_store = text;
  RedisAddress address;
  if (IsRedisName(text)) return ParseRedisAddress(text, &address);
  return text.empty() || text.back() == '/' ? "must be the path of a file, auto, redis, "
                                              "redis://HOST[:PORT], rediss://HOST[:PORT], "
                                              "unix:/path, or off"
                                            : "";
}

std::string Redis(const std::string& text, Options* options) {
  options->redis = text;
  RedisAddress address;
  const std::string problem = text == "off" ? std::string() : ParseRedisAddress(text, &address);
  return problem.empty() ? problem : problem + ", or off";
}

std::string RedisTimeout(const std::string& text, Options* options) {
  double& seconds = options->redis_timeout_seconds;
  const bool is_good = ParseNumber(text, &seconds) && seconds >= 0.001 && seconds <= 1;
  return is_good ? "" : "must be a number of seconds from 0.001 to 1";
}

template <bool Options::*kField>
std::string Flag(const std::string& text, Options* options) {
  options->*kField = text == "true";
  return text == "true" || text == "false" ? std::string() : "must be true or false";
}

// Reads the path of a file or folder, or "off".
template <std::string Options::*kField>
std::string Path(const std::string& text, Options* options) {
  options->*kField = text;
  return text.empty() ? "must be a path, or off" : "";
}

// Reads the path of a file, or "system" for the machine's own.
template <std::string Options::*kField>
std::string SystemPath(const std::string& text, Options* options) {
  options->*kField = text;
  return text.empty() || text == "off" ? "must be a path, or system" : "";
}

// Returns the faults between settings, one line for each.
std::string CheckTransport(const Options& options) {
  std::string problems;
  const auto need = [&problems](bool is_fine, const char* what) {
    if (!is_fine) problems += std::string(what) + "\n";
  };
  const bool has_redis_files = options.redis_tls_ca != "system" || options.redis_tls_cert != "off";
  need(!has_redis_files || IsRedisWithTls(options.redis) || IsRedisWithTls(options.profile_store),
       "--redis-tls-ca and --redis-tls-cert need --redis or --profile-store to be a rediss:// or "
       "rediss-sentinel:// address");
  need((options.redis_tls_cert != "off") == (options.redis_tls_key != "off"),
       "--redis-tls-cert and --redis-tls-key belong together");
  const bool is_tls = options.tls_cert != "off";
  need(is_tls == (options.tls_key != "off"), "--tls-cert and --tls-key belong together");
  need(is_tls || options.tls_client_ca == "off", "--tls-client-ca needs --tls-cert");
  need(options.tls_client_ca != "off" || options.tls_crl_dir == "off",
       "--tls-crl-dir needs --tls-client-ca");
  for (const std::string& address : options.listen) {
    if (is_tls || options.allow_plaintext || StaysOnThisMachine(address)) continue;
    problems += "--listen (EVENKEEL_LISTEN) = \"" + address +
                "\": others reach this address and there is no TLS; set --tls-cert and --tls-key, "
                "or --allow-plaintext=true if the network keeps strangers out\n";
  }
  return problems;
}

std::string Level(const std::string& text, Options* options) {
  const std::optional<LogLevel> level = ParseLogLevel(text);
  if (level) {
    options->log_level = *level;
    return {};
  }
  return "must be debug, info, warning, error or off";
}

std::string AuthPolicyPath(const std::string& text, Options* options) {
  options->auth_policy = text;
  return text.empty() || text.back() == '/' ? "must be the path of a file, or off" : "";
}

std::string OtlpEndpoint(const std::string& text, Options* options) {
  options->otlp_endpoint = text;
  return ReadOtlpSettings(text, &std::getenv, &options->traces);
}

constexpr int64_t kYearSeconds = 366 * 24 * 3600;

// The one table of settings.
constexpr Setting kSettings[] = {
    {"listen", "127.0.0.1:50051",
     "Addresses that serve gRPC: HOST:PORT or unix:/path, separated by commas. Addresses "
     "other than loopback and unix sockets need TLS (--tls-cert) or --allow-plaintext=true.",
     &Listen},
    {"metrics-address", "127.0.0.1:9464",
     "HOST:PORT that serves Prometheus metrics under /metrics, or off.", &MetricsAddress},
    {"admin-address", "off",
     "Address that serves the status page (/statusz) and the log level over HTTP: unix:/path "
     "(mode 0600), HOST:PORT of loopback, or off.",
     &AdminAddress},
    {"workers", "0", "Threads that compute plans. 0: one per CPU.",
     &Whole<&Options::workers, 0, 1024>},
    {"queue-length", "64",
     "Plans that may wait for a worker; more are refused with RESOURCE_EXHAUSTED and a retry "
     "delay.",
     &Whole<&Options::queue_length, 1, 1'000'000>},
    {"max-plan-seconds", "60",
     "Maximum seconds for one computation, whatever the caller's deadline; then it fails with "
     "DEADLINE_EXCEEDED.",
     &Seconds<&Options::max_plan_seconds, 1, 3600>},
    {"cache-bytes", "67108864",
     "Memory for computed plans; the least recently used are evicted first.",
     &Whole<&Options::cache_bytes, 0, 1024 * kGiB>},
    {"memo-bytes", "16777216",
     "Memory for requests seen before, which are answered without being parsed; curves may take a "
     "quarter of it more.",
     &Whole<&Options::memo_bytes, 0, 1024 * kGiB>},
    {"max-request-bytes", "1048576", "Largest request message; larger ones are refused.",
     &Whole<&Options::max_request_bytes, 1024, kGiB>},
    {"max-concurrent-streams", "100", "Maximum calls in flight on one connection; more wait.",
     &Whole<&Options::max_concurrent_streams, 1, 1'000'000>},
    {"memory-quota-bytes", "268435456",
     "Limit on gRPC's own buffers, over all connections. 0: none.",
     &Whole<&Options::memory_quota_bytes, 0, 1024 * kGiB>},
    {"pack-workers", "0", "Threads that pack uploads (PackDataset). 0: half of --workers.",
     &Whole<&Options::pack_workers, 0, 1024>},
    {"pack-max-samples", "8000000",
     "Maximum samples in one upload; larger ones are refused. A call reserves 2 MiB and 256 bytes "
     "per sample.",
     &Whole<&Options::pack_max_samples, 1, (int64_t{1} << 31) - 1>},
    {"pack-max-streams", "64",
     "Maximum PackDataset calls at a time; more are refused with RESOURCE_EXHAUSTED and a retry "
     "delay.",
     &Whole<&Options::pack_max_streams, 1, 1'000'000>},
    {"pack-memory-bytes", "2147483648",
     "Memory for all PackDataset calls together; calls beyond it are refused too.",
     &Whole<&Options::pack_memory_bytes, 8 * kMiB, 1024 * kGiB>},
    {"pack-idle-timeout", "30",
     "Seconds after which a PackDataset caller that neither sends nor reads is cut off. "
     "0: never.",
     &Seconds<&Options::pack_idle_timeout_seconds, 0, 3600>},
    {"dataset-bytes", "16777216",
     "Memory for the datasets that PackDataset keeps for dataset_ref; the least recently "
     "used are evicted first.",
     &Whole<&Options::dataset_bytes, 128 * 1024, 1024 * kGiB>},
    {"plan-store", "auto",
     "File that keeps computed plans over restarts; it belongs to one server. auto: plans.lmdb in "
     "$STATE_DIRECTORY, or in /var/lib/evenkeel if that exists, else off. off: memory only.",
     &StorePath<&Options::plan_store>},
    {"plan-store-bytes", "1073741824",
     "Disk for those plans; the oldest are removed first. The files may take 1.5 times as much.",
     &Whole<&Options::plan_store_bytes, kMiB, 1024 * kGiB>},
    {"profile-store", "auto",
     "File that keeps recorded profiles (RecordProfile); its folder must exist, and it belongs to "
     "one server. redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], rediss://... with TLS, "
     "unix:/path, or redis for that of --redis: a Redis that replicas share. auto: profiles.lmdb, "
     "as for --plan-store. off: they are kept in memory and lost with the server.",
     &ProfileStorePath},
    {"profile-redis-password-file", "off",
     "File whose first line is the password of the Redis that --profile-store names.",
     &Path<&Options::profile_redis_password>},
    {"profile-redis-trust", "false",
     "true: the operator vouches that this Redis keeps what it acknowledges, even if Redis itself "
     "does not say so.",
     &Flag<&Options::profile_redis_trust>},
    {"redis", "off",
     "Redis through which replicas share plans: HOST:PORT, unix:/path or "
     "redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], or of Sentinels "
     "redis-sentinel://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...][/DATABASE]#NAME; with TLS "
     "rediss://... or rediss-sentinel://.... off: replicas do not share plans.",
     &Redis},
    {"redis-password-file", "off", "File whose first line is the password for --redis.",
     &Path<&Options::redis_password>},
    {"redis-timeout", "0.005",
     "Maximum seconds for a look-up in that Redis, its wait included; then the plan is computed.",
     &RedisTimeout},
    {"redis-tls-ca", "system",
     "PEM file of the authorities that sign the certificates of rediss:// addresses, for both "
     "Redis instances. system: those that this machine trusts.",
     &SystemPath<&Options::redis_tls_ca>},
    {"redis-tls-cert", "off",
     "PEM file of the server's certificate and its chain, for a Redis that asks for one.",
     &Path<&Options::redis_tls_cert>},
    {"redis-tls-key", "off", "PEM file of its private key, without a pass phrase.",
     &Path<&Options::redis_tls_key>},
    {"auth-policy", "off",
     "File that says who may call what, and as which tenant (docs/SECURITY.md); changes take "
     "effect while the server runs. off: everybody may call everything.",
     &AuthPolicyPath},
    {"drain-timeout", "20",
     "Seconds that calls in flight get to finish after SIGTERM or SIGINT; a second signal ends the "
     "server at once.",
     &Seconds<&Options::drain_timeout_seconds, 0, 3600>},
    {"keepalive-time", "7200", "Seconds of silence on a connection before the server pings.",
     &Seconds<&Options::keepalive_time_seconds, 1, kYearSeconds>},
    {"keepalive-timeout", "20", "Seconds to wait for the answer to that ping.",
     &Seconds<&Options::keepalive_timeout_seconds, 1, 3600>},
    {"min-ping-interval", "10",
     "Minimum seconds between a client's keepalive pings; faster ones are disconnected.",
     &Seconds<&Options::min_ping_interval_seconds, 0, 3600>},
    {"max-connection-age", "1800",
     "Seconds after which a connection is closed gracefully, so that clients spread over "
     "replicas and certificates are checked again. 0: never.",
     &Seconds<&Options::max_connection_age_seconds, 0, kYearSeconds>},
    {"max-connection-age-grace", "300",
     "Seconds that calls on such a connection get to finish; then they are cut off.",
     &Seconds<&Options::max_connection_age_grace_seconds, 1, kYearSeconds>},
    {"max-connection-idle", "600",
     "Seconds without a call after which a connection is closed gracefully. 0: never.",
     &Seconds<&Options::max_connection_idle_seconds, 0, kYearSeconds>},
    {"handshake-timeout", "10",
     "Seconds that a new connection gets for TLS and the first bytes of HTTP/2.",
     &Seconds<&Options::handshake_timeout_seconds, 1, 3600>},
    {"max-connections", "0",
     "Maximum connections at a time; more are closed as soon as they are accepted. 0: 64 less than "
     "the process may have open files, at most 10000.",
     &Whole<&Options::max_connections, 0, 1'000'000>},
    {"allow-plaintext", "false",
     "Serve without TLS on addresses that other machines reach: true or false.",
     &Flag<&Options::allow_plaintext>},
    {"tls-cert", "off",
     "PEM file of the server's certificate and its chain, for all TCP addresses; unix sockets stay "
     "without TLS. off: no TLS.",
     &Path<&Options::tls_cert>},
    {"tls-key", "off", "PEM file of its private key, without a pass phrase.",
     &Path<&Options::tls_key>},
    {"tls-client-ca", "off",
     "PEM file of the authorities that sign certificates of clients, which must then present one. "
     "off: none is asked for.",
     &Path<&Options::tls_client_ca>},
    {"tls-crl-dir", "off",
     "Folder of revocation lists of those authorities, named by openssl rehash.",
     &Path<&Options::tls_crl_dir>},
    {"tls-reload-seconds", "10",
     "Seconds between checks of these files. New ones are used for new connections; files that "
     "cannot be used change nothing. 0: never check again.",
     &Seconds<&Options::tls_reload_seconds, 0, 86400>},
    {"self-probe-seconds", "3",
     "Seconds between calls of the server to its own addresses; after three in a row without an "
     "answer within that time, the process ends with exit code 3. 0: off.",
     &Seconds<&Options::self_probe_seconds, 0, 3600>},
    {"drain-delay", "0",
     "Seconds after SIGTERM or SIGINT during which calls are still accepted and answered "
     "while health says NOT_SERVING: as long as clients take to notice.",
     &Seconds<&Options::drain_delay_seconds, 0, 3600>},
    {"reflection", "true", "Serve gRPC server reflection, which grpcurl needs: true or false.",
     &Flag<&Options::reflection>},
    {"otlp-endpoint", "environment",
     "OTLP receiver (gRPC) that gets the spans of calls: http://HOST[:PORT], https://HOST[:PORT] "
     "or unix:/path. environment: that of OTEL_EXPORTER_OTLP_ENDPOINT, or none. off: none.",
     &OtlpEndpoint},
    {"log-level", "info",
     "Lowest level that is logged: debug, info (one line per call), warning, error or off.",
     &Level},
};

std::string FlagName(const Setting& setting) { return std::string("--") + setting.name; }

std::string HelpText() {
  std::ostringstream text;
  text << "evenkeel-server: plans training jobs for GPU-cluster schedulers, over gRPC.\n\n"
          "Every setting is a flag, or an environment variable; the flag wins.\n\n";
  for (const Setting& setting : kSettings) {
    text << "  " << FlagName(setting) << "=VALUE  (" << EnvironmentName(setting) << ", default "
         << setting.default_text << ")\n      " << setting.help << "\n";
  }
  text << "  --help, -h\n      Print this and exit.\n"
          "  --version\n      Print the version and exit.\n\n"
          "Exit codes: 0 after a drain, 1 when the server cannot start, 2 for wrong settings, 3 "
          "when it no longer answers at its own address, 128 + N when a second signal N "
          "ends it at once.\n";
  return text.str();
}

ParsedOptions Exit(int code, std::string text) {
  ParsedOptions parsed;
  parsed.exit_code = code;
  parsed.text = std::move(text);
  return parsed;
}

std::string Join(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += (all.empty() ? "" : ",") + part;
  return all;
}

// Applies each setting's text. Returns one line for each one that is wrong.
std::string ApplyAll(const std::vector<std::vector<std::string>>& values, Options* options) {
  std::string problems;
  for (size_t i = 0; i < std::size(kSettings); ++i) {
    const Setting& setting = kSettings[i];
    const bool is_given = !values[i].empty();
    const std::string text = is_given ? Join(values[i]) : setting.default_text;
    const std::string problem = setting.apply(text, options);
    if (text != setting.default_text) options->changed.emplace_back(FlagName(setting), text);
    if (problem.empty()) continue;
    problems += FlagName(setting) + " (" + EnvironmentName(setting) + ") = \"" +
                WithoutPassword(text) + "\": " + problem + "\n";
  }
  return problems;
}

// Names the flags that are most like an unknown one; "" if there is none.
std::string NearestFlags(const std::string& flag) {
  constexpr int kSuggestions = 3;
  planner::NameSearch search(flag);
  for (const Setting& setting : kSettings) search.Add(FlagName(setting), {});
  const std::vector<std::string> nearest = std::move(search).Nearest(kSuggestions);
  return nearest.empty() ? "" : "; nearest: " + absl::StrJoin(nearest, ", ");
}

// Returns a line for each argument that no setting takes. The argument after a flag is its value.
std::string UnknownArguments(const std::vector<std::string>& arguments) {
  std::string lines;
  bool is_value = false;
  for (const std::string& argument : arguments) {
    const bool is_flag = argument.starts_with("--");
    const size_t equals = argument.find('=');
    if (is_flag || !is_value)
      lines += "unknown argument " + argument +
               (is_flag ? NearestFlags(argument.substr(0, equals)) : "") + "\n";
    is_value = is_flag && equals == std::string::npos;
  }
  return lines;
}

}  // namespace

std::string StatePath(const std::string& setting, const std::string& name) {
  if (setting == "off") return "";
  if (setting != "auto") return setting;
  const char* given = std::getenv("STATE_DIRECTORY");
  std::error_code error;
  const std::string folder = given != nullptr && *given != '\0' ? given : kStateFolder;
  return std::filesystem::is_directory(folder, error) ? folder + "/" + name : "";
}

std::span<const Setting> Settings() { return kSettings; }

std::string EnvironmentName(const Setting& setting) {
  std::string name = std::string("EVENKEEL_") + setting.name;
  for (char& c : name) {
    if (c == '-') c = '_';
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return name;
}

ParsedOptions ParseOptions(int argc, const char* const* argv) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  bool help = false;
  bool version = false;
  app.add_flag("--help,-h", help);
  app.add_flag("--version", version);
  // All values are read as text, so that one wrong value does not hide the next.
  std::vector<std::vector<std::string>> values(std::size(kSettings));
  for (size_t i = 0; i < std::size(kSettings); ++i) {
    const bool is_list = kSettings[i].apply == &Listen;
    app.add_option(FlagName(kSettings[i]), values[i])
        ->envname(EnvironmentName(kSettings[i]))
        ->expected(1)
        ->multi_option_policy(is_list ? CLI::MultiOptionPolicy::TakeAll
                                      : CLI::MultiOptionPolicy::TakeLast);
  }
  std::string problems;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    problems = std::string(error.what()) + "\n";
  }
  if (help) return Exit(0, HelpText());
  if (version) return Exit(0, "evenkeel-server " EVENKEEL_VERSION "\n");
  problems += UnknownArguments(app.remaining());
  ParsedOptions parsed;
  problems += ApplyAll(values, &parsed.options);
  if (problems.empty()) problems += CheckTransport(parsed.options);
  if (!problems.empty()) return Exit(kExitWrongSettings, problems + "See --help.\n");
  parsed.run = true;
  return parsed;
}

}  // namespace evenkeel::server
