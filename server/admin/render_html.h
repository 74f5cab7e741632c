// The status page as HTML that needs nothing else: no script, no other file.
#ifndef EVENKEEL_SERVER_ADMIN_RENDER_HTML_H_
#define EVENKEEL_SERVER_ADMIN_RENDER_HTML_H_

#include <string>
#include <string_view>

#include "server/admin/status_page.h"

namespace evenkeel::server {

std::string RenderHtml(const StatusPage& page);

// `text` so that it is text wherever HTML may have it. Hidden characters are written out: "\u202e".
std::string EscapeHtml(std::string_view text);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_ADMIN_RENDER_HTML_H_
