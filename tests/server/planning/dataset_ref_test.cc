// Tests datasets that are kept from uploads, and jobs that refer to them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/convert/dataset/bin_lengths.h"
#include "server/convert/digest.h"
#include "server/convert/job/from_proto.h"
#include "server/planning/fingerprint.h"
#include "server/planning/keep_dataset.h"
#include "tests/server/convert/requests.h"

namespace evenkeel::server {
namespace {

struct Samples {
  std::vector<int32_t> units, tokens;
  planner::Lengths lengths() const { return {units, tokens}; }
};

Samples FewSamples() { return {{1, 5, 1, 2}, {300, 1400, 300, 600}}; }

// Makes `count` distinct lengths that include the visual tokens of internvl-chat-v1.5.
Samples ManySamples(int32_t count) {
  Samples samples;
  for (int32_t i = 0; i < count; ++i) {
    samples.units.push_back(i % 13);
    samples.tokens.push_back(256 * (i % 13) + 1 + i);
  }
  return samples;
}

v1::Histogram HistogramOf(const KeptDataset& kept) {
  v1::Histogram histogram;
  EXPECT_TRUE(histogram.ParseFromString(kept.bytes));
  return histogram;
}

DatasetSource SourceOf(const KeptDataset& kept) {
  return [kept](std::string_view ref) -> DatasetBytes {
    return ref == kept.ref ? std::make_shared<const std::string>(kept.bytes) : nullptr;
  };
}

TEST(KeepDataset, CountsEqualLengths) {
  const v1::Histogram histogram = HistogramOf(KeepDataset(FewSamples().lengths()));
  ASSERT_EQ(histogram.sample_count_size(), 3);
  EXPECT_EQ(histogram.units(0), 1);
  EXPECT_EQ(histogram.llm_tokens(0), 300);
  EXPECT_EQ(histogram.sample_count(0), 2);
}

TEST(KeepDataset, DoesNotDependOnTheOrder) {
  Samples turned = FewSamples();
  std::reverse(turned.units.begin(), turned.units.end());
  std::reverse(turned.tokens.begin(), turned.tokens.end());
  const KeptDataset kept = KeepDataset(FewSamples().lengths());
  EXPECT_EQ(KeepDataset(turned.lengths()).ref, kept.ref);
  EXPECT_TRUE(IsDatasetRef(kept.ref)) << kept.ref;
  turned.tokens[0] += 1;
  EXPECT_NE(KeepDataset(turned.lengths()).ref, kept.ref);
}

TEST(KeepDataset, KnowsItsOwnBytes) {
  const KeptDataset few = KeepDataset(FewSamples().lengths());
  const KeptDataset many = KeepDataset(ManySamples(200000).lengths());
  EXPECT_TRUE(IsKeptDataset(few.ref, few.bytes));
  EXPECT_TRUE(IsKeptDataset(many.ref, many.bytes));
  EXPECT_FALSE(IsKeptDataset(few.ref, many.bytes));
  EXPECT_FALSE(IsKeptDataset(few.ref, ""));
  EXPECT_FALSE(IsKeptDataset(few.ref, few.bytes + few.bytes));
  for (size_t i = 0; i < few.bytes.size(); ++i) {
    std::string damaged = few.bytes;
    damaged[i] ^= 1;
    EXPECT_FALSE(IsKeptDataset(few.ref, damaged)) << i;
    EXPECT_FALSE(IsKeptDataset(few.ref, few.bytes.substr(0, i))) << i;
  }
}

TEST(KeepDataset, ManyLengthsAreBinnedAndTotalsKept) {
  const Samples samples = ManySamples(200000);
  const KeptDataset kept = KeepDataset(samples.lengths());
  EXPECT_LT(kept.bytes.size(), static_cast<size_t>(kMaxHistogramBytes));
  const v1::Histogram histogram = HistogramOf(kept);
  double tokens = 0, binned_tokens = 0;
  int64_t units = 0, binned_units = 0, count = 0;
  for (size_t i = 0; i < samples.units.size(); ++i) {
    tokens += samples.tokens[i];
    units += samples.units[i];
  }
  for (int i = 0; i < histogram.sample_count_size(); ++i) {
    count += histogram.sample_count(i);
    binned_tokens += static_cast<double>(histogram.llm_tokens(i) * histogram.sample_count(i));
    binned_units += histogram.units(i) * histogram.sample_count(i);
  }
  EXPECT_EQ(count, 200000);
  EXPECT_EQ(binned_units, units);  // units stay exact
  EXPECT_NEAR(binned_tokens / tokens, 1, 1e-4);
}

TEST(DatasetRef, JobIsThatOfTheSameHistogram) {
  for (const Samples& samples : {FewSamples(), ManySamples(100000)}) {
    const KeptDataset kept = KeepDataset(samples.lengths());
    v1::PlanJobRequest by_ref = Parse(MinimalText());
    by_ref.mutable_job()->mutable_dataset()->set_dataset_ref(kept.ref);
    v1::PlanJobRequest given = Parse(MinimalText());
    *given.mutable_job()->mutable_dataset()->mutable_histogram() = HistogramOf(kept);
    planner::Job job;
    const auto violations = JobFromProto(by_ref, &job, SourceOf(kept));
    ASSERT_TRUE(violations.empty()) << violations[0].field << violations[0].description;
    EXPECT_EQ(PlanId(job), PlanId(JobOf(given)));
  }
}

TEST(DatasetRef, MustBeKnownAndSuitTheModel) {
  const KeptDataset kept = KeepDataset(FewSamples().lengths());
  const auto violations_of = [&](const std::string& ref, const DatasetSource& source,
                                 const char* model) {
    v1::PlanJobRequest request = Parse(MinimalText());
    request.mutable_job()->mutable_model()->set_name(model);
    request.mutable_job()->mutable_dataset()->set_dataset_ref(ref);
    planner::Job job;
    std::vector<std::string> lines;
    for (const Violation& violation : JobFromProto(request, &job, source)) {
      lines.push_back(violation.field + ": " + violation.description);
    }
    return lines;
  };
  const std::string unknown = "ds-" + std::string(32, '0');
  EXPECT_EQ(violations_of(unknown, SourceOf(kept), "internvl-chat-v1.5"),
            std::vector<std::string>{
                "job.dataset.dataset_ref: unknown: " + unknown +
                " was never uploaded to this server, or has been evicted since; upload it again by "
                "PackDataset with keep_histogram, or give histogram"});
  EXPECT_EQ(violations_of(kept.ref, {}, "internvl-chat-v1.5"),
            std::vector<std::string>{"job.dataset.dataset_ref: needs a server that keeps datasets; "
                                     "give histogram or parts"});
  EXPECT_EQ(violations_of(kept.ref, SourceOf(kept), "llama3-8b"),
            std::vector<std::string>{
                "job.dataset.dataset_ref.units[0]: must be 0 or unset: the model has no encoder "
                "(and 2 more in this list)"});
}

}  // namespace
}  // namespace evenkeel::server
