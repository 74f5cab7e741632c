// Packing groups as rows of text, for terminals and for pages.
#ifndef EVENKEEL_CLIENT_CLI_GROUP_TABLES_H_
#define EVENKEEL_CLIENT_CLI_GROUP_TABLES_H_

#include <string>
#include <utility>
#include <vector>

#include "client/cli/table.h"
#include "evenkeel/v1/packing.pb.h"
#include "evenkeel/v1/plan.pb.h"

namespace evenkeel::cli {

// The groups of a plan, and what its columns mean.
TextTable PlannedGroups(const v1::Plan& plan);
inline constexpr char kPlannedGroupsRemark[] =
    "tokens; share of the GPUs' packs; attention: imbalance over ranks (ABR)";

// How they were chosen: names and texts. `plan` has a choice.
std::vector<std::pair<std::string, std::string>> GroupChoiceTexts(const v1::Plan& plan);

// The ways to batch the same data, as `choice` has them; the first cell is the name.
TextTable BatchingMethods(const v1::GroupChoice& choice);
inline constexpr char kBatchingMethodsTitle[] = "Other ways to batch the same data";
inline constexpr char kBatchingMethodsRemark[] =
    "PR, DBR, ABR and CR of HBP's tables; same split of the model";

// The groups of a packing as they were carried out, and what they come to together.
TextTable PackedGroups(const v1::PackDatasetSummary& summary);
std::string PackedGroupsText(const v1::PackDatasetSummary& summary);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_GROUP_TABLES_H_
