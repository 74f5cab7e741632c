// The status page for programs, as evenkeelctl reads it.
#ifndef EVENKEEL_SERVER_ADMIN_RENDER_JSON_H_
#define EVENKEEL_SERVER_ADMIN_RENDER_JSON_H_

#include <string>

#include "server/admin/status_page.h"

namespace evenkeel::server {

// {"title", "summary", "health": ROW, "attention": [ROW], "sections": [{"title", "rows": [ROW]}],
// "tables": [{"title", "note", "columns": [{"heading", "number"}], "rows": [{"mark", "cells"}]}]}
// ROW is {"name", "value", "note", "mark"}. Bytes that are not valid UTF-8 become U+FFFD.
std::string RenderJson(const StatusPage& page);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_ADMIN_RENDER_JSON_H_
