// Checks one joint histogram: its form, its ranges, and whether it suits the encoder.
#ifndef EVENKEEL_SERVER_CONVERT_DATASET_HISTOGRAM_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_DATASET_HISTOGRAM_FROM_PROTO_H_

#include <cstdint>
#include <vector>

#include "planner/job.h"
#include "planner/model/model_spec.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class Histogram;
}

namespace evenkeel::server {

// Returns the units of a bin. REQUIRES: the lists have the sizes that the contract states.
planner::PerEncoder<int64_t> UnitsOfBin(const v1::Histogram& from, int bin);

// Appends the bins in the order of the request. `model` is as in DatasetFromProto.
void AppendHistogram(const v1::Histogram& from, const FieldPath& path, ViolationSink& sink,
                     const planner::ModelSpec* model, std::vector<planner::LengthBin>* bins);

// Sorts bins by units and tokens and merges equal ones.
void NormalizeBins(std::vector<planner::LengthBin>* bins);

// Returns true if the sums over valid bins stay below 2^63: samples, their tokens, and the
// encoder's tokens.
bool SumsFit(const std::vector<planner::LengthBin>& bins, const planner::ModelSpec& model);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_DATASET_HISTOGRAM_FROM_PROTO_H_
