// Packing groups as rows of text, for terminals and for pages.
#ifndef EVENKEEL_CLIENT_CLI_RENDER_GROUP_TABLES_H_
#define EVENKEEL_CLIENT_CLI_RENDER_GROUP_TABLES_H_

#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/table.h"
#include "evenkeel/v1/packing.pb.h"
#include "evenkeel/v1/plan.pb.h"

namespace evenkeel::cli {

// Returns the groups of a plan as a table. The remark explains its columns.
TextTable PlannedGroups(const v1::Plan& plan);
inline constexpr char kPlannedGroupsRemark[] =
    "tokens; share of the GPUs' packs; attention: imbalance over ranks (ABR)";

// Returns how the groups were chosen, as names and texts. `plan` must have a choice.
std::vector<std::pair<std::string, std::string>> GroupChoiceTexts(const v1::Plan& plan);

// Returns the ways to batch the same data that `choice` has. The first cell of a row is the name.
TextTable BatchingMethods(const v1::GroupChoice& choice);
inline constexpr char kBatchingMethodsTitle[] = "Other ways to batch the same data";
inline constexpr char kBatchingMethodsRemark[] =
    "PR, DBR, ABR and CR of HBP's tables; same split of the model";

// Returns the groups of a packing as they were made. The text has their totals.
TextTable PackedGroups(const v1::PackDatasetSummary& summary);
std::string PackedGroupsText(const v1::PackDatasetSummary& summary);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_RENDER_GROUP_TABLES_H_
