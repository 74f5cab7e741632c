// Jobs that once broke a property: reproducers/, whose README says what each showed. The test
// checks all properties and the pins that showed the fault.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "tests/metamorphic/checks.h"
#include "tests/metamorphic/planning.h"
#include "tests/metamorphic/suite.h"

namespace evenkeel::metamorphic {
namespace {

const std::string kFolder = std::string(EVENKEEL_SOURCE_DIR) + "/tests/metamorphic/reproducers/";

constexpr Effort kEffort = {.pins = 4, .one_in = 1};

struct Reproducer {
  const char* name;
  std::vector<std::string> pins;
  // True if plans with fewer samples per step must not be quicker either.
  bool scaled = false;
  uint64_t variants = 1;  // seed of the variants
};

const std::vector<Reproducer>& Reproducers() {
  static const std::vector<Reproducer> all = {
      {"batch-indivisible-interleaved", {"schedule=INTERLEAVED"}},
      {"bound-wrong-500004", {"schedule=INTERLEAVED", "cp=1"}},
      {"bound-wrong-500036", {"schedule=INTERLEAVED", "cp=1"}},
      {"bound-wrong-600059", {"cp=1"}},
      {"bound-wrong-600101", {"schedule=INTERLEAVED"}},
      {"bound-wrong-600210", {"schedule=INTERLEAVED", "cp=1"}},
      {"chunks-without-recompute", {"recompute=FORBIDDEN"}},
      {"context-without-attention", {}},
      {"epoch-seconds-saturates", {}},
      {"false-optimal-interleaved", {"schedule=INTERLEAVED"}},
      {"free-worse-600079", {}},
      {"free-worse-600079-caps", {}},
      {"free-worse-600096", {"pp=4"}, true},
      {"free-worse-600096-caps", {"pp=4"}, true},
      {"free-worse-600128", {"vs=4"}},
      {"free-worse-600128-caps", {"vs=4"}},
      {"free-worse-600154", {}},
      {"free-worse-600154-caps", {}},
      {"frozen-few-buckets", {}},
      {"frozen-few-buckets-turns", {}},
      {"group-sample-count", {}},
      {"group-without-packs", {}},
      {"groups-uneven-modes", {}},
      {"groups-uneven-modes-moe", {}},
      {"internal-groups-epoch-overflow", {}},
      {"larger-step-fits", {"pp=1"}},
      {"many-packs-slow-rhythm", {"pp=4"}},
      {"max-alternatives", {}},
      {"mean-of-equal-units", {}},
      {"memory-few-steps", {}},
      {"memory-hands-on", {}},
      {"memory-uneven-packs-chunks", {}, false, 3},
      {"memory-uneven-packs-runs", {}},
      {"misfit-empty-gpipe", {}},
      {"misfit-short-1-byte", {}},
      {"negative-workspace", {}},
      {"quicker-than-the-peak", {}},
      {"remedy-too-long", {}},
      {"remedy-undoes-offload", {}},
      {"settled-too-early", {"ep=8", "vs=3"}},
      {"tied-table-at-the-head", {}},
      {"uneven-chunks-405b", {"recompute=FORBIDDEN"}},
      {"uneven-chunks-70b", {"recompute=FORBIDDEN"}},
      {"uneven-packs-chunks", {"vs=2"}},
  };
  return all;
}

const std::vector<std::string>& Overruns() {
  static const std::vector<std::string> all = {
      "fuzz-overrun-1024",    "overrun-200611",       "overrun-200674",
      "overrun-200674-full",  "overrun-200674-pool0", "overrun-200674-pool1",
      "overrun-200674-pool2", "overrun-200674-pool3", "overrun-200846",
      "overrun-min1",         "overrun-min2"};
  return all;
}

v1::PlanJobRequest Read(const std::string& name) {
  std::ifstream file(kFolder + name + ".json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  v1::PlanJobRequest request;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &request);
  EXPECT_TRUE(status.ok()) << name << ": " << status.ToString();
  return request;
}

void PrintTo(const Reproducer& reproducer, std::ostream* out) { *out << reproducer.name; }

class ReproducerTest : public testing::TestWithParam<Reproducer> {};

TEST_P(ReproducerTest, HoldsAllProperties) {
  Counts counts;
  Ledger ledger(&counts, "");
  CheckJob(Read(GetParam().name), Draws(GetParam().variants, 1), kEffort, ledger, GetParam().pins);
  EXPECT_EQ(counts.refused, 0);
  EXPECT_GE(counts.compared[static_cast<int>(Check::kAnswers)], 1);
  for (int i = 0; i < kChecks; ++i) {
    const auto check = static_cast<Check>(i);
    if (OnlyReported(check) && !(check == Check::kDominanceScaled && GetParam().scaled)) continue;
    EXPECT_EQ(counts.failed[i], 0) << NameOf(check) << "; the faults are above";
  }
}

std::string TestName(const testing::TestParamInfo<Reproducer>& param) {
  std::string name = param.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, ReproducerTest, testing::ValuesIn(Reproducers()), TestName);

// Checks that long work stops soon after it is told to. The test measures CPU time, which other
// processes do not use, and leaves room for a slow machine.
class OverrunTest : public testing::TestWithParam<std::string> {};

TEST_P(OverrunTest, EndsSoonAfterItIsStopped) {
  constexpr double kStop = 0.5, kRoom = 2;
  const v1::PlanJobRequest request = Read(GetParam());
  const double start = CpuSeconds();
  const Answer answer = PlanOf(request, kStop);
  EXPECT_LT(CpuSeconds() - start, kStop + kRoom) << "seconds of CPU time";
  EXPECT_TRUE(answer.planned() || answer.end == End::kLate);
}

INSTANTIATE_TEST_SUITE_P(All, OverrunTest, testing::ValuesIn(Overruns()),
                         [](const testing::TestParamInfo<std::string>& param) {
                           std::string name = param.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// With just this much memory reserved, the search once found a quicker plan than without: random
// variants of the job rarely reserve as much.
TEST(ReproducersTest, MoreMemoryIsNoSlowerWhereRunsMove) {
  const v1::PlanJobRequest more = Read("memory-uneven-packs-runs");
  v1::PlanJobRequest less = more;
  less.mutable_job()->mutable_cluster()->mutable_pools(0)->set_reserved_bytes(62'104'050'331);
  const Answer roomy = PlanOf(more), tight = PlanOf(less);
  ASSERT_TRUE(roomy.fits() && tight.fits());
  EXPECT_THAT(CheckNoSlower(roomy.plan(), tight.plan()), testing::IsEmpty());
}

TEST(ReproducersTest, AllAreListed) {
  std::set<std::string> listed(Overruns().begin(), Overruns().end()), files;
  for (const Reproducer& reproducer : Reproducers()) listed.insert(reproducer.name);
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".json") files.insert(entry.path().stem());
  }
  EXPECT_EQ(listed, files);
}

}  // namespace
}  // namespace evenkeel::metamorphic
