// HTTP for operators: the status page and the log level. It has a separate socket, because whoever
// reaches it can see everything and change the level: either a unix socket that only the owner can
// open, or loopback.
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

// Serves GET /statusz (HTML; ?format=json), and GET and POST /log-level. Requests over TCP must
// name a loopback host, and requests from another site's page are refused, so that a browser on
// this machine does not open a way in.
class AdminServer {
 public:
  // `address` must pass CheckAdminAddress. `status` is called from the server's threads until the
  // server is destroyed. Returns nullptr, with a reason in *error, if the address cannot be bound.
  static std::unique_ptr<AdminServer> Open(const std::string& address,
                                           std::function<StatusPage()> status, std::string* error);
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  int port() const { return port_; }  // 0 for a unix socket

 private:
  AdminServer(std::function<StatusPage()> status, bool is_unix);

  void AddHandlers(bool is_unix);
  bool Bind(const std::string& address, std::string* error);

  const std::function<StatusPage()> status_;
  const std::unique_ptr<httplib::Server> http_;
  std::string socket_path_;  // removed at the end
  int port_ = 0;
  std::thread thread_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_ADMIN_ADMIN_SERVER_H_
