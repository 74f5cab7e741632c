// The work of evenkeel-store: copies histories of profiles out of stores, and into empty ones.
#ifndef EVENKEEL_SERVER_STORE_MOVE_HISTORY_H_
#define EVENKEEL_SERVER_STORE_MOVE_HISTORY_H_

#include <string>
#include <vector>

#include "server/calibration/profile_store.h"
#include "server/redis/redis_address.h"

namespace evenkeel::server {

// A store as given on the command line.
struct StoreName {
  std::string store;          // path of a file, redis://..., rediss://... or unix:/path
  std::string password_file;  // for Redis; empty if there is none
  std::string tenant;         // for Redis; empty for the default tenant
  RedisTlsFiles tls_files;    // for rediss://
};

// All of these functions return the fault, or "" on success.

// Reads the history of a store, even while servers use it. Changes nothing.
std::string ReadHistory(const StoreName& name, std::vector<ProfileRecord>* history);

// Writes `history` into a store that has none: all of it or nothing.
std::string WriteHistory(const StoreName& name, const std::vector<ProfileRecord>& history);

// Reads the revisions of a damaged file that precede the damage; *ended_by names the damage.
// Changes nothing.
std::string SalvageHistory(const StoreName& name, std::vector<ProfileRecord>* history,
                           std::string* ended_by);

// Writes a file that DecodeHistory reads. The file is first written under another name. Replaces an
// existing file.
std::string WriteHistoryFile(const std::string& path, const std::vector<ProfileRecord>& history);
std::string ReadHistoryFile(const std::string& path, std::vector<ProfileRecord>* history);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_STORE_MOVE_HISTORY_H_
