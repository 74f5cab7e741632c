// Keys of a tenant's objects in stores that all tenants share.
#ifndef EVENKEEL_SERVER_CORE_SCOPED_ID_H_
#define EVENKEEL_SERVER_CORE_SCOPED_ID_H_

#include <string>
#include <string_view>

namespace evenkeel::server {

// Returns a key that no other pair has, because a tenant's name has no '/'. Without a tenant, the
// key is the id itself.
inline std::string ScopedId(std::string_view tenant, std::string_view id) {
  std::string key(tenant);
  if (!tenant.empty()) key += '/';
  return key.append(id);
}

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_SCOPED_ID_H_
