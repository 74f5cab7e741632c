// The rights that a policy may grant: methods of evenkeel.v1.PlannerService, and roles, which are
// sets of methods.
#ifndef EVENKEEL_SERVER_AUTH_ROLES_H_
#define EVENKEEL_SERVER_AUTH_ROLES_H_

#include <span>
#include <string_view>

namespace evenkeel::server {

// The role that has every method, including those that later releases add.
inline constexpr std::string_view kAdminRole = "admin";

struct RoleOfMethod {
  std::string_view method;
  std::string_view role;  // the only role besides kAdminRole that has the method
};

// Returns every method once.
std::span<const RoleOfMethod> RolesOfMethods();

bool IsRole(std::string_view name);
bool IsMethod(std::string_view name);
bool RoleHas(std::string_view role, std::string_view method);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_AUTH_ROLES_H_
