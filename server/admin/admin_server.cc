#include "server/admin/admin_server.h"

#include <httplib.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <utility>

#include "server/admin/admin_address.h"
#include "server/admin/render_html.h"
#include "server/admin/render_json.h"
#include "server/listen.h"
#include "server/log.h"

namespace evenkeel::server {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr size_t kThreads = 2;  // so that one slow reader does not hold up the other
constexpr int kTimeoutSeconds = 5;
constexpr size_t kMaxBodyBytes = 1024;
constexpr char kPlainText[] = "text/plain; charset=utf-8";

// Returns the host of a Host header without its port, such as "127.0.0.1" for "127.0.0.1:9465".
// Also takes "[::1]" and "localhost".
std::string_view HostName(std::string_view header) {
  const size_t colon = header.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && header.find(']', colon) == std::string_view::npos;
  return has_port ? header.substr(0, colon) : header;
}

// Returns true for a request that a page of another site caused. Such a page can reach this server
// by name (DNS that points to loopback) or by a form, but the browser says where the request comes
// from.
bool IsFromAnotherSite(const httplib::Request& request, bool is_unix) {
  if (!is_unix && !IsLoopback(HostName(request.get_header_value("Host")))) return true;
  const std::string site = request.get_header_value("Sec-Fetch-Site");
  const bool is_own = site.empty() || site == "none" || site == "same-origin";
  return !is_own || (request.method != "GET" && request.has_header("Origin"));
}

void Answer(httplib::Response& response, int status, const std::string& text) {
  response.status = status;
  response.set_content(text, kPlainText);
}

void SetLevel(const httplib::Request& request, httplib::Response& response) {
  std::string name = request.body;
  while (!name.empty() && (name.back() == '\n' || name.back() == '\r')) name.pop_back();
  const auto level = ParseLogLevel(name);
  if (!level) {
    return Answer(response, 400, "the body must be debug, info, warning, error or off\n");
  }
  const std::string before = LogLevelName(GetLogLevel());
  // Logged at the more verbose of the old and the new level.
  if (*level < GetLogLevel()) SetLogLevel(*level);
  LogLine(LogLevel::kWarning, "log level").Add("from", before).Add("to", name);
  SetLogLevel(*level);
  Answer(response, 200, std::string(LogLevelName(*level)) + "\n");
}

}  // namespace

AdminServer::AdminServer(std::function<StatusPage()> status, bool is_unix)
    : status_(std::move(status)), http_(std::make_unique<httplib::Server>()) {
  http_->new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  http_->set_keep_alive_max_count(1);  // an idle connection would hold a thread
  http_->set_read_timeout(kTimeoutSeconds);
  http_->set_write_timeout(kTimeoutSeconds);
  http_->set_payload_max_length(kMaxBodyBytes);
  http_->set_default_headers({{"Content-Security-Policy",
                               "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; "
                               "frame-ancestors 'none'"},
                              {"X-Content-Type-Options", "nosniff"},
                              {"Referrer-Policy", "no-referrer"},
                              {"Cache-Control", "no-store"}});
  // Without this handler, the library puts the text of an exception into a header.
  http_->set_exception_handler([](const auto&, httplib::Response& response, std::exception_ptr) {
    Answer(response, 500, "the status cannot be shown\n");
  });
  AddHandlers(is_unix);
}

void AdminServer::AddHandlers(bool is_unix) {
  using Handled = httplib::Server::HandlerResponse;
  http_->set_pre_routing_handler([is_unix](const auto& request, httplib::Response& response) {
    if (!IsFromAnotherSite(request, is_unix)) return Handled::Unhandled;
    Answer(response, 403, "requests of other sites are refused\n");
    return Handled::Handled;
  });
  http_->set_error_handler([](const auto&, httplib::Response& response) {
    if (!response.body.empty()) return;
    const int status = response.status;
    Answer(response, status,
           status == 404 ? "Here are /statusz, /statusz?format=json and /log-level.\n"
                         : "this request cannot be answered\n");
  });
  http_->Get("/", [](const auto&, auto& response) { response.set_redirect("/statusz"); });
  http_->Get("/statusz", [this](const auto& request, httplib::Response& response) {
    const std::string format = request.get_param_value("format");
    if (format == "json") return response.set_content(RenderJson(status_()), "application/json");
    if (format.empty() || format == "html") {
      return response.set_content(RenderHtml(status_()), "text/html; charset=utf-8");
    }
    Answer(response, 400, "format must be html or json\n");
  });
  http_->Get("/log-level", [](const auto&, auto& response) {
    Answer(response, 200, std::string(LogLevelName(GetLogLevel())) + "\n");
  });
  http_->Post("/log-level", &SetLevel);
}

bool AdminServer::Bind(const std::string& address, std::string* error) {
  if (address.starts_with(kUnixPrefix)) {
    *error = ClearStaleSocket(address);
    if (!error->empty()) return false;
    const std::string path = address.substr(kUnixPrefix.size());
    http_->set_address_family(AF_UNIX);
    const mode_t before = umask(0177);  // 0600
    const bool bound = http_->bind_to_port(path, 1);
    umask(before);
    if (bound) socket_path_ = path;
    if (!bound) *error = "cannot serve the status page on " + address;
    return bound;
  }
  const size_t colon = address.rfind(':');
  const std::string host(WithoutBrackets(std::string_view(address).substr(0, colon)));
  // Without this, a second server on the same port starts without an error and takes half of the
  // requests.
  http_->set_socket_options([](int fd) {
    const int yes = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
  port_ = std::stoi(address.substr(colon + 1));
  if (port_ == 0) {
    port_ = http_->bind_to_any_port(host);
  } else if (!http_->bind_to_port(host, port_)) {
    port_ = -1;
  }
  if (port_ < 0) *error = "cannot serve the status page on " + address + ": is it in use?";
  return port_ >= 0;
}

std::unique_ptr<AdminServer> AdminServer::Open(const std::string& address,
                                               std::function<StatusPage()> status,
                                               std::string* error) {
  std::unique_ptr<AdminServer> server(
      new AdminServer(std::move(status), address.starts_with(kUnixPrefix)));
  if (!server->Bind(address, error)) return nullptr;
  server->thread_ = std::thread([http = server->http_.get()] { http->listen_after_bind(); });
  // Before the server runs, stop() has no effect.
  while (!server->http_->is_running()) std::this_thread::yield();
  return server;
}

AdminServer::~AdminServer() {
  http_->stop();
  if (thread_.joinable()) thread_.join();
  if (!socket_path_.empty()) unlink(socket_path_.c_str());
}

}  // namespace evenkeel::server
