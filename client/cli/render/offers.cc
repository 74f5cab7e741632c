#include "client/cli/render/offers.h"

#include <absl/strings/ascii.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/table.h"
#include "client/cli/render/plan.h"
#include "client/cli/render/words.h"

namespace evenkeel::cli {
namespace {

// Returns the time of all epochs, with failures if the job says how often nodes fail.
double GpuDays(const v1::Plan& plan) {
  const v1::Predictions& predictions = plan.predictions();
  return predictions.has_goodput() ? predictions.goodput().gpu_days() : predictions.gpu_days();
}

double Cost(const v1::Plan& plan) {
  const v1::Predictions& predictions = plan.predictions();
  return predictions.has_goodput() ? predictions.goodput().cost() : predictions.cost();
}

const char* WhyLeftOut(v1::LeftOutReason reason) {
  switch (reason) {
    case v1::LEFT_OUT_REASON_NO_DEGREES:
      return "the constraints admit no degrees";
    case v1::LEFT_OUT_REASON_TOO_FEW_GPUS:
      return "too few for the deadline, even at their peak";
    case v1::LEFT_OUT_REASON_NOT_NEEDED:
      return "not planned: fewer GPUs meet the deadline";
    case v1::LEFT_OUT_REASON_ANSWER_FULL:
      return "planned, but the answer is full: see `get`";
    default:
      return "left out";
  }
}

// Returns the fitting offer with the least value of a figure, or nullptr.
template <typename Figure>
const v1::Plan* BestOffer(const v1::PlanJobResponse& response, Figure figure) {
  const v1::Plan* best = nullptr;
  for (const v1::Plan& plan : response.offers()) {
    if (plan.has_misfit() || !(figure(plan) > 0)) continue;
    if (best == nullptr || figure(plan) < figure(*best)) best = &plan;
  }
  return best;
}

std::string GpusText(const v1::Plan& plan) {
  return fmt::format("{} x {}", plan.subject().gpu_count(), plan.subject().gpu_type());
}

// Names the offers that are best by cost or GPU-days and by time.
std::string BestText(const v1::PlanJobResponse& response) {
  std::string text;
  if (const v1::Plan* cheapest = BestOffer(response, Cost))
    text = fmt::format(" Cheapest: {}, {}.", GpusText(*cheapest), Decimal(Cost(*cheapest), 2));
  else if (const v1::Plan* least = BestOffer(response, GpuDays))
    text = fmt::format(" Fewest GPU-days: {}, {}.", GpusText(*least), Significant(GpuDays(*least)));
  if (const v1::Plan* soonest = BestOffer(response, FinishSeconds))
    text += fmt::format(" Soonest: {}, {}.", GpusText(*soonest), Duration(FinishSeconds(*soonest)));
  return text;
}

class Offers {
 public:
  Offers(const Style& style, const v1::PlanJobResponse& response)
      : style_(style), response_(response) {
    for (const v1::Plan& plan : response.offers()) {
      prices_ = prices_ || Cost(plan) > 0;
      deadline_ = std::max(deadline_, plan.subject().objective().deadline_seconds());
    }
  }

  std::string Render() const {
    std::vector<Table::Column> columns = {{""},
                                          {"GPUs"},
                                          {"type", Align::kLeft, /*shrink=*/true, 10},
                                          {"split", Align::kLeft},
                                          {"step"},
                                          {"training"},
                                          {"GPU-days"}};
    if (prices_) columns.push_back({"cost"});
    if (deadline_ > 0) columns.push_back({"deadline", Align::kLeft});
    Table table(columns);
    std::vector<std::pair<std::string, std::string>> ids;
    for (const v1::Plan& plan : response_.offers()) {
      ids.emplace_back(std::to_string(ids.size() + 1), plan.plan_id());
      AddPlan(ids.back().first, plan, &table);
    }
    std::string remark = "best first; comparison " + response_.plan_id();
    if (deadline_ > 0) remark += ", deadline " + Duration(deadline_);
    return Title() + Paragraph(style_, Plain(style_, Answer()), 0) +
           Section(style_, "Offers", remark) + table.Render(style_) + LeftOut() + "\n" +
           NameValues(style_, ids);
  }

 private:
  std::string Title() const {
    const int count = response_.offers_size() + response_.offers_left_out_size();
    return Paint(style_, Tone::kBold,
                 Plain(style_, fmt::format("{}: {} compared", response_.plan().subject().model(),
                                           Counted(count, "offer")))) +
           "\n";
  }

  // Recommends an offer.
  std::string Answer() const {
    if (BestOffer(response_, FinishSeconds) == nullptr) return "No offer fits.";
    std::string text;
    if (deadline_ > 0) {
      const v1::Plan* fewest = BestOffer(response_, [this](const v1::Plan& plan) {
        return FinishSeconds(plan) <= deadline_ ? plan.subject().gpu_count() : 0;
      });
      text = fewest == nullptr
                 ? fmt::format("No offer ends within {}.", Duration(deadline_))
                 : fmt::format("Fewest GPUs for {}: {}, which take {}.", Duration(deadline_),
                               GpusText(*fewest), Duration(FinishSeconds(*fewest)));
    }
    // With one plan, there is nothing to choose from.
    if (response_.offers_size() > 1 || text.empty()) text += BestText(response_);
    return std::string(absl::StripLeadingAsciiWhitespace(text));
  }

  void AddPlan(const std::string& number, const v1::Plan& plan, Table* table) const {
    const v1::PlanSubject& subject = plan.subject();
    const bool fits = !plan.has_misfit();
    std::vector<std::string> cells = {
        number,
        Integer(subject.gpu_count()),
        Plain(style_, subject.gpu_type()),
        fits ? SplitText(plan.parallelism()) : ShortText(plan.misfit()),
        fits ? Duration(plan.predictions().step().total_seconds()) : "no fit",
        fits ? Duration(FinishSeconds(plan)) : "-",
        fits ? Significant(GpuDays(plan)) : "-"};
    if (prices_) cells.push_back(Cost(plan) > 0 ? Decimal(Cost(plan), 2) : "-");
    if (deadline_ > 0) cells.push_back(fits && FinishSeconds(plan) <= deadline_ ? "met" : "missed");
    table->Add(cells);
  }

  std::string LeftOut() const {
    std::string text;
    for (const v1::OfferLeftOut& offer : response_.offers_left_out()) {
      text += Paragraph(
          style_, Plain(style_, fmt::format("{} x {}: {}{}", offer.gpu_count(), offer.gpu_type(),
                                            WhyLeftOut(offer.reason()),
                                            offer.plan_id().empty() ? "" : " " + offer.plan_id())));
    }
    return text;
  }

  const Style& style_;
  const v1::PlanJobResponse& response_;
  bool prices_ = false;
  double deadline_ = 0;
};

}  // namespace

std::string RenderOffers(const Style& style, const v1::PlanJobResponse& response) {
  if (response.offers_size() + response.offers_left_out_size() == 0) return "";
  return Offers(style, response).Render();
}

}  // namespace evenkeel::cli
