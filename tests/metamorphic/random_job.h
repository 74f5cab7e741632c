// Random requests, nearly all of which the contract accepts.
#ifndef EVENKEEL_TESTS_METAMORPHIC_RANDOM_JOB_H_
#define EVENKEEL_TESTS_METAMORPHIC_RANDOM_JOB_H_

#include <cstdint>
#include <vector>

#include "evenkeel/v1/planner_service.pb.h"
#include "tests/metamorphic/draws.h"

namespace evenkeel::metamorphic {

enum class Size {
  kSmall,     // at most 16 GPUs and 16 transformer layers
  kFull,      // thousands of GPUs, all models of the catalogue
  kEncoders,  // small, with two or three encoders, or of newer types: Whisper, linear attention
};

// Returns a request. The same seed, number and size give the same request.
v1::PlanJobRequest RandomRequest(uint64_t seed, int64_t number, Size size);

// Draw the parts of a request, in this order.
void DrawModel(Draws& draws, Size size, v1::Model* model);
void DrawModelOfEncoders(Draws& draws, v1::Model* model);
void DrawCluster(Draws& draws, Size size, v1::Cluster* cluster);
void DrawTraining(Draws& draws, Size size, bool encoder, v1::Training* training);
// `tokens_per_unit` is as in ModelFacts.
void DrawDataset(Draws& draws, Size size, const std::vector<int64_t>& tokens_per_unit,
                 v1::Job* job);
void DrawConstraints(Draws& draws, int64_t layers, v1::Job* job);

// Draws the form of weights and of the optimizer's states, and which kernels are fused.
void DrawAdmittedWeights(Draws& draws, v1::PlanJobRequest* request);

inline constexpr int64_t kOneUnitTokens = 448;  // positions of Whisper's decoder
// Draw what a job keeps in host memory, or that it updates each layer inside the backward pass; and
// tiers of the network.
void DrawAdmittedOffload(Draws& draws, int64_t layers, v1::PlanJobRequest* request);
void DrawAdmittedTiers(Draws& draws, v1::PlanJobRequest* request);
// Draws modules in host memory with virtual stages, instead of other constraints.
void DrawAdmittedInterleavedModules(Draws& draws, v1::PlanJobRequest* request);

// Puts `changed` in place of the request if it is valid. Returns whether it is.
bool TakeIfAdmitted(v1::PlanJobRequest changed, v1::PlanJobRequest* request);

// Returns the GPUs of a node of the pool.
int64_t NodeOf(const v1::GpuPool& pool);

// Facts about a model from the messages. If it is named, this comes from the contract's list of
// models.
struct ModelFacts {
  int64_t layers = 0;  // transformer layers, of encoder and language model together
  std::vector<int64_t> tokens_per_unit;  // of the language model, for each encoder
  bool experts = false;
  bool one_unit = false;  // every sample has one, and at most kOneUnitTokens tokens of text
};
ModelFacts FactsOf(const v1::Model& model);

}  // namespace evenkeel::metamorphic

#endif  // EVENKEEL_TESTS_METAMORPHIC_RANDOM_JOB_H_
