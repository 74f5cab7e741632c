// Compares bad requests with a golden file. Each case is a name, a request in text format, and all
// violations that it gets. EVENKEEL_UPDATE_GOLDEN=1 rewrites the violations in the source tree.
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "planner/job.h"
#include "server/convert/job/from_proto.h"
#include "tests/server/convert/requests.h"

namespace evenkeel::server {
namespace {

constexpr char kGoldenRefusals[] =
    EVENKEEL_SOURCE_DIR "/tests/server/convert/golden/bad_requests.txt";
constexpr char kCaseMark[] = "=== ";
constexpr char kViolationMark[] = "--> ";

struct Case {
  std::string name;
  std::string request;                  // text format
  std::vector<std::string> violations;  // "field: description"
};

struct GoldenFile {
  std::string preface;
  std::vector<Case> cases;
};

GoldenFile Read() {
  GoldenFile file;
  std::ifstream in(kGoldenRefusals);
  EXPECT_TRUE(in.good()) << kGoldenRefusals;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(kCaseMark)) {
      file.cases.push_back({.name = line.substr(4), .request = "", .violations = {}});
    } else if (file.cases.empty()) {
      file.preface += line + "\n";
    } else if (line.starts_with(kViolationMark)) {
      file.cases.back().violations.push_back(line.substr(4));
    } else if (!line.empty()) {
      file.cases.back().request += line + "\n";
    }
  }
  return file;
}

void Write(const GoldenFile& file) {
  std::ofstream out(kGoldenRefusals);
  out << file.preface;
  for (size_t i = 0; i < file.cases.size(); ++i) {
    const Case& c = file.cases[i];
    out << (i == 0 ? "" : "\n") << kCaseMark << c.name << "\n" << c.request;
    for (const std::string& violation : c.violations) out << kViolationMark << violation << "\n";
  }
}

std::vector<std::string> ViolationsOf(const std::string& request) {
  planner::Job job;
  std::vector<std::string> lines;
  for (const Violation& violation : JobFromProto(Parse(request), &job)) {
    lines.push_back(violation.field + ": " + violation.description);
  }
  return lines;
}

TEST(BadRequests, GetEveryViolation) {
  GoldenFile file = Read();
  const bool update = std::getenv("EVENKEEL_UPDATE_GOLDEN") != nullptr;
  for (Case& c : file.cases) {
    SCOPED_TRACE(c.name);
    const std::vector<std::string> violations = ViolationsOf(c.request);
    EXPECT_FALSE(violations.empty());
    if (update) {
      c.violations = violations;
    } else {
      EXPECT_EQ(violations, c.violations);
    }
  }
  if (update) Write(file);
}

TEST(BadRequests, AreManyAndNamedApart) {
  const GoldenFile file = Read();
  EXPECT_GE(file.cases.size(), 60u);
  std::set<std::string> names;
  for (const Case& c : file.cases) EXPECT_TRUE(names.insert(c.name).second) << c.name;
}

TEST(BadRequests, StopAtTheCapAndCountTheRest) {
  v1::PlanJobRequest request = Parse(MinimalText());
  v1::Training* training = request.mutable_job()->mutable_training();
  training->set_global_batch_samples(-1);
  training->set_epochs(-1);
  training->set_isf_iterations(-1);
  request.set_max_violations(2);
  planner::Job job;
  const std::vector<Violation> violations = JobFromProto(request, &job);
  ASSERT_EQ(violations.size(), 2u);
  EXPECT_EQ(violations[0].field, "job.training.global_batch_samples");
  EXPECT_EQ(violations[1].field, "job.training.epochs");
  EXPECT_TRUE(violations[1].description.ends_with("(and 1 more violations)"))
      << violations[1].description;
}

// Returns the violations of requests that are too large to write down.
std::vector<Violation> ViolationsAfter(void (*change)(v1::Job*)) {
  v1::PlanJobRequest request = Parse(MinimalText());
  change(request.mutable_job());
  planner::Job job;
  return JobFromProto(request, &job);
}

// Silently dropping a newer client's constraint would be wrong.
TEST(BadRequests, FieldsOfANewerContract) {
  v1::PlanJobRequest request = Parse(MinimalText());
  const auto add = [](google::protobuf::Message* message, int number) {
    message->GetReflection()->MutableUnknownFields(message)->AddVarint(number, 1);
  };
  add(&request, 4000);
  add(request.mutable_job()->mutable_training(), 37);
  add(request.mutable_job()->mutable_training(), 37);
  add(request.mutable_job()->mutable_cluster()->mutable_pools(0), 99);
  planner::Job job;
  std::vector<std::string> lines;
  for (const Violation& violation : JobFromProto(request, &job)) {
    lines.push_back(violation.field + ": " + violation.description);
  }
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "4000: unknown field 4000: not known to this version",
                       "job.cluster.pools[0].99: unknown field 99: not known to this version",
                       "job.training.37: unknown field 37: not known to this version"}));
}

TEST(BadRequests, HistogramAbove64KiB) {
  const auto violations = ViolationsAfter([](v1::Job* job) {
    v1::Histogram* histogram = job->mutable_dataset()->mutable_histogram();
    for (int i = 0; i < 30000; ++i) {
      histogram->add_llm_tokens(1000 + i);
      histogram->add_sample_count(1);
    }
  });
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].field, "job.dataset.histogram");
  EXPECT_NE(violations[0].description.find("at most 65536 bytes"), std::string::npos);
}

TEST(BadRequests, TooManyParts) {
  const auto violations = ViolationsAfter([](v1::Job* job) {
    for (int i = 0; i < 500000; ++i) job->mutable_dataset()->add_parts();
  });
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].field, "job.dataset.parts");
}

TEST(BadRequests, TooManyEncodersAndPools) {
  const auto violations = ViolationsAfter([](v1::Job* job) {
    for (int i = 0; i < 100000; ++i) job->mutable_model()->add_encoders();
    for (int i = 0; i < 100000; ++i) job->mutable_cluster()->add_pools();
  });
  ASSERT_EQ(violations.size(), 2u);
  EXPECT_EQ(violations[0].field, "job.model.encoders");
  EXPECT_EQ(violations[1].field, "job.cluster.pools");
}

TEST(BadRequests, TooManyStages) {
  const auto violations = ViolationsAfter([](v1::Job* job) {
    for (int i = 0; i < 1025; ++i) job->mutable_constraints()->add_stage_layers(1);
  });
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].field, "job.constraints.stage_layers");
}

TEST(BadRequests, ListsReportTheFirstBadValueAndCountTheRest) {
  const auto violations = ViolationsAfter([](v1::Job* job) {
    v1::Histogram* histogram = job->mutable_dataset()->mutable_histogram();
    for (int i = 0; i < 10000; ++i) {
      histogram->add_llm_tokens(i < 100 ? 5000 : -i);
      histogram->add_sample_count(i == 0 ? 1 : 0);
    }
  });
  ASSERT_EQ(violations.size(), 1u);  // 10000 negative tokens exceed 64 KiB by themselves
  const auto few = ViolationsAfter([](v1::Job* job) {
    v1::Histogram* histogram = job->mutable_dataset()->mutable_histogram();
    for (int i = 0; i < 1000; ++i) {
      histogram->add_llm_tokens(i < 100 ? 5000 : -i);
      histogram->add_sample_count(i == 0 ? 1 : 0);
    }
  });
  ASSERT_EQ(few.size(), 2u);
  EXPECT_EQ(few[0].field, "job.dataset.histogram.llm_tokens[100]");
  EXPECT_TRUE(few[0].description.ends_with("(and 899 more in this list)"));
  EXPECT_EQ(few[1].field, "job.dataset.histogram.sample_count[1]");
}

TEST(BadRequests, QuotedTextIsCutBetweenCharacters) {
  v1::PlanJobRequest request = Parse(MinimalText());
  std::string name = "x";
  for (int i = 0; i < 50; ++i) name += "\xc3\xa9";  // two bytes each: the cut is inside one
  request.mutable_job()->mutable_model()->set_name(name);
  planner::Job job;
  const auto violations = JobFromProto(request, &job);
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_NE(violations[0].description.find("\xc3\xa9...\""), std::string::npos)
      << violations[0].description;
}

}  // namespace
}  // namespace evenkeel::server
