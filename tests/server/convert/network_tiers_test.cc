#include "server/convert/job/network_tiers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "evenkeel/v1/planner_service.pb.h"
#include "planner/space/network_tiers.h"
#include "server/convert/job/from_proto.h"
#include "tests/server/convert/requests.h"

namespace evenkeel::server {
namespace {

std::string Pool(const std::string& rest) {
  return R"(job { model { language_model { catalog_name: "llama3-8b" } } cluster { pools { )" +
         rest + " } } }";
}

const char kRacks[] = R"(gpu_type: "gb200" gpus_per_node: 4 )";

planner::Cluster ClusterFrom(const std::string& pool) { return JobOf(Pool(pool)).cluster; }

// Returns the first violation as "field: description".
std::string NetworkRefusal(const std::string& pool) {
  planner::Job job;
  const std::vector<Violation> violations = JobFromProto(Parse(Pool(pool)), &job);
  return violations.empty() ? "" : violations[0].field + ": " + violations[0].description;
}

TEST(NetworkTiersTest, ATypeHasTheDomainOfItsRacks) {
  const planner::Cluster racks = ClusterFrom(std::string(kRacks) + "gpu_count: 512");
  EXPECT_EQ(racks.domain.gpus, 72);
  EXPECT_EQ(planner::DomainGpus(racks), 64);
  EXPECT_EQ(racks.gpus_per_node, 4);
  const planner::Cluster nodes = ClusterFrom(R"(gpu_type: "h100" gpu_count: 512)");
  EXPECT_EQ(nodes.domain.gpus, 0);
  EXPECT_EQ(nodes.pod.gpus, 0);
}

TEST(NetworkTiersTest, TiersReplaceRates) {
  const planner::Cluster cluster = ClusterFrom(std::string(kRacks) + R"(gpu_count: 1152
      network_tiers { name: "NVL72" usable_gpu_count: 64 bytes_per_second: 8e11 }
      network_tiers { gpu_count: 640 usable_gpu_count: 576 bytes_per_second: 1e11 }
      network_tiers { oversubscription_ratio: 4 })");
  EXPECT_EQ(cluster.domain.name, "NVL72");
  EXPECT_EQ(cluster.domain.usable, 64);
  EXPECT_EQ(cluster.intra_node_bytes_per_second, 8e11);
  EXPECT_EQ(cluster.pod.name, "pod");
  EXPECT_EQ(cluster.pod.usable, 576);
  EXPECT_EQ(cluster.inter_node_bytes_per_second, 1e11);
  EXPECT_EQ(cluster.inter_pod_bytes_per_second, 2.5e10);
  const planner::Cluster two = ClusterFrom(
      "gpu_type: \"h100\" gpu_count: 64 network_tiers {} network_tiers { bytes_per_second: 5e10 }");
  EXPECT_EQ(two.inter_node_bytes_per_second, 5e10);
  EXPECT_EQ(two.pod.gpus, 0);
  EXPECT_EQ(two.joined_gpus, 0);
  EXPECT_FALSE(two.domain.filled);
}

TEST(NetworkTiersTest, RefusalsNameTheField) {
  const struct {
    const char* pool;
    const char* field;
    const char* text;
  } cases[] = {
      {"gpu_count: 64 network_tiers { gpu_count: 70 }", "network_tiers[0].gpu_count",
       "multiple of the 4 gpus_per_node"},
      {"gpu_count: 64 network_tiers { usable_gpu_count: 76 }", "network_tiers[0].usable_gpu_count",
       "72"},
      {"gpu_count: 96 network_tiers { usable_gpu_count: 64 }", "gpu_count", "nearest: 64, 128"},
      {"gpu_count: 64 intra_node_bytes_per_second: 9e11 network_tiers { bytes_per_second: 9e11 }",
       "network_tiers[0].bytes_per_second", "intra_node_bytes_per_second"},
      {"gpu_count: 64 network_tiers { oversubscription_ratio: 2 }",
       "network_tiers[0].oversubscription_ratio", "third tier"},
      {"gpu_count: 128 network_tiers {} network_tiers {} network_tiers {}",
       "network_tiers[1].gpu_count", "required"},
      {"gpu_count: 128 network_tiers {} network_tiers { gpu_count: 64 }",
       "network_tiers[1].gpu_count", "must hold the 128 GPUs"},
      {"gpu_count: 128 network_tiers {} network_tiers { name: \"x\" }", "network_tiers[1].name",
       "unset"},
      {"gpu_count: 128 network_tiers {} network_tiers { gpu_count: 64 } network_tiers {}",
       "network_tiers[1].gpu_count", "multiple of the 72 GPUs of a scale-up domain"},
      {"gpu_count: 4 network_tiers {} network_tiers {} network_tiers {} network_tiers {}",
       "network_tiers", "at most 3"},
  };
  for (const auto& c : cases) {
    const std::string refusal = NetworkRefusal(std::string(kRacks) + c.pool);
    EXPECT_EQ(refusal.find(std::string("job.cluster.pools[0].") + c.field + ": "), 0U) << refusal;
    EXPECT_NE(refusal.find(c.text), std::string::npos) << refusal;
  }
}

}  // namespace
}  // namespace evenkeel::server
