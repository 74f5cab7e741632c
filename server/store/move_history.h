// What evenkeel-store does: histories of profiles out of stores, and into empty ones.
#ifndef EVENKEEL_SERVER_STORE_MOVE_HISTORY_H_
#define EVENKEEL_SERVER_STORE_MOVE_HISTORY_H_

#include <string>
#include <vector>

#include "server/calibration/profile_store.h"

namespace evenkeel::server {

// A store as the command line names it.
struct StoreName {
  std::string store;          // path of a file, redis://... or unix:/path
  std::string password_file;  // of Redis; empty: none
  std::string tenant;         // of Redis; empty: the only one
};

// All of them return what went wrong; empty: it is done.

// Reads the history of a store, also while servers use it. Changes nothing.
std::string ReadHistory(const StoreName& name, std::vector<ProfileRecord>* history);

// Puts `history` into a store that has none: all of it or nothing.
std::string WriteHistory(const StoreName& name, const std::vector<ProfileRecord>& history);

// Reads the revisions of a damaged file that stand before the damage; *ended_by: what is wrong
// behind them. Changes nothing.
std::string SalvageHistory(const StoreName& name, std::vector<ProfileRecord>* history,
                           std::string* ended_by);

// A file that DecodeHistory takes. Written beside its name first; a file of that name is replaced.
std::string WriteHistoryFile(const std::string& path, const std::vector<ProfileRecord>& history);
std::string ReadHistoryFile(const std::string& path, std::vector<ProfileRecord>* history);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_STORE_MOVE_HISTORY_H_
