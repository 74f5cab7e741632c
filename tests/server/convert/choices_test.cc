#include "server/convert/choices.h"

#include <google/protobuf/generated_enum_reflection.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <set>

namespace evenkeel::server {
namespace {

// A value that a table lacks would be answered as UNSPECIFIED, and refused in a request.
template <typename Ours, typename Theirs, size_t N>
void ExpectAll(const Choice<Ours, Theirs> (&choices)[N]) {
  const auto* names = google::protobuf::GetEnumDescriptor<Theirs>();
  std::set<Theirs> theirs;
  for (const auto& choice : choices) theirs.insert(choice.theirs);
  EXPECT_EQ(theirs.size(), N) << names->name();
  EXPECT_EQ(static_cast<int>(N), names->value_count() - 1) << names->name();
}

// kPrecisions is left out: PRECISION_BF16 and PRECISION_FP16 are one value of the planner.
TEST(ChoicesTest, TablesHaveAllValuesOfTheContract) {
  ExpectAll(kSchedules);
  ExpectAll(kPartitionMethods);
  ExpectAll(kRecomputePolicies);
  ExpectAll(kZeroStages);
  ExpectAll(kOptimizers);
  ExpectAll(kFrameworks);
  ExpectAll(kEncoderSplits);
  ExpectAll(kGroupSelections);
  ExpectAll(kBatchingMethods);
  ExpectAll(kAttentionKernels);
  ExpectAll(kCollectives);
  ExpectAll(kContextExchanges);
  ExpectAll(kExpertDispatchers);
  ExpectAll(kFabrics);
  ExpectAll(kObjectives);
  ExpectAll(kLaunchFrameworks);
  ExpectAll(kLaunchMatches);
  ExpectAll(kLoraTargets);
  ExpectAll(kFrozenFormats);
  ExpectAll(kLayerKinds);
  ExpectAll(kRecomputeParts);
  ExpectAll(kOffloadModules);
  ExpectAll(kPackers);
  ExpectAll(kOversizePolicies);
  ExpectAll(kBases);
  ExpectAll(kRemedyKinds);
  ExpectAll(kSizeChanges);
  ExpectAll(kMemoryFits);
  ExpectAll(kSearchEnds);
  ExpectAll(kEvidences);
}

}  // namespace
}  // namespace evenkeel::server
