// The status page as self-contained HTML: no script and no other file.
#ifndef EVENKEEL_SERVER_ADMIN_RENDER_HTML_H_
#define EVENKEEL_SERVER_ADMIN_RENDER_HTML_H_

#include <string>
#include <string_view>

#include "server/admin/status_page.h"

namespace evenkeel::server {

std::string RenderHtml(const StatusPage& page);

// Escapes `text` for any place in HTML that takes text. Hidden characters are written out:
// "\u202e".
std::string EscapeHtml(std::string_view text);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_ADMIN_RENDER_HTML_H_
