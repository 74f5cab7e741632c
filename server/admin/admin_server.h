// HTTP for operators: the status page, and the level of the log. On a socket of its own, because
// whoever reaches it may see everything and change the level: a unix socket of the owner's alone,
// or loopback.
#ifndef EVENKEEL_SERVER_ADMIN_ADMIN_SERVER_H_
#define EVENKEEL_SERVER_ADMIN_ADMIN_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "server/admin/status_page.h"

namespace httplib {
class Server;
}

namespace evenkeel::server {

// GET /statusz (HTML; ?format=json), GET and POST /log-level. Requests over TCP must name a
// loopback host, and none may come from another site's page: a browser on this machine is no way
// in.
class AdminServer {
 public:
  // `address` passes CheckAdminAddress. `status` is called from its threads until it is destroyed.
  // nullptr, with a reason in *error: the address cannot be had.
  static std::unique_ptr<AdminServer> Open(const std::string& address,
                                           std::function<StatusPage()> status, std::string* error);
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  int port() const { return port_; }  // 0: a unix socket

 private:
  AdminServer(std::function<StatusPage()> status, bool is_unix);

  void AddHandlers(bool is_unix);
  bool Bind(const std::string& address, std::string* error);

  const std::function<StatusPage()> status_;
  const std::unique_ptr<httplib::Server> http_;
  std::string socket_path_;  // to remove at the end
  int port_ = 0;
  std::thread thread_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_ADMIN_ADMIN_SERVER_H_
