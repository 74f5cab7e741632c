#include "client/cli/timeline/group_sections.h"

#include "client/cli/render/group_tables.h"
#include "client/cli/report/page.h"

namespace evenkeel::cli {

std::string GroupsSection(const v1::Plan& plan) {
  if (plan.packing_groups().empty()) return "";
  std::string text = PageSection(
      "Packing groups",
      "Samples of like length are packed together, and each step runs one group. A pack holds so "
      "many tokens; share: of the packs that GPUs work on; attention: imbalance over ranks (ABR).",
      HtmlTable(PlannedGroups(plan)) + FactsTable(GroupChoiceTexts(plan)));
  if (plan.group_choice().baselines().empty()) return text;
  return text +
         PageSection(kBatchingMethodsTitle,
                     "Padding, imbalance of tokens and of attention over ranks, and sharing of "
                     "packs: PR, DBR, ABR and CR of HBP's tables. Same split of the model.",
                     HtmlTable(BatchingMethods(plan.group_choice())));
}

}  // namespace evenkeel::cli
