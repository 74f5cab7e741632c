#include "server/auth/roles.h"

#include <algorithm>

namespace evenkeel::server {
namespace {

constexpr std::string_view kRead = "planner.read";
constexpr std::string_view kPlan = "planner.plan";
constexpr std::string_view kCalibrate = "planner.calibrate";

constexpr RoleOfMethod kRoles[] = {
    {"GetPlan", kRead},      {"ListPlans", kRead},          {"ListModels", kRead},
    {"ListGpuTypes", kRead}, {"ListTrainers", kRead},       {"ListProfiles", kRead},
    {"PlanJob", kPlan},      {"PlanCurve", kPlan},          {"EvaluatePlan", kPlan},
    {"PackDataset", kPlan},  {"RecordProfile", kCalibrate}, {"RollBackProfile", kCalibrate},
};

}  // namespace

std::span<const RoleOfMethod> RolesOfMethods() { return kRoles; }

bool IsRole(std::string_view name) {
  return name == kAdminRole || std::any_of(std::begin(kRoles), std::end(kRoles),
                                           [&](const RoleOfMethod& r) { return r.role == name; });
}

bool IsMethod(std::string_view name) {
  return std::any_of(std::begin(kRoles), std::end(kRoles),
                     [&](const RoleOfMethod& r) { return r.method == name; });
}

bool RoleHas(std::string_view role, std::string_view method) {
  if (role == kAdminRole) return true;
  return std::any_of(std::begin(kRoles), std::end(kRoles),
                     [&](const RoleOfMethod& r) { return r.role == role && r.method == method; });
}

}  // namespace evenkeel::server
