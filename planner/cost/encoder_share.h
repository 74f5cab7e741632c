// How evenly ranks that share the images of a pack are loaded: docs/COST_MODEL.md, section 1.8.
#ifndef EVENKEEL_PLANNER_COST_ENCODER_SHARE_H_
#define EVENKEEL_PLANNER_COST_ENCODER_SHARE_H_

#include <cstddef>
#include <cstdint>

#include "planner/cost/pack_cost.h"
#include "planner/model/model_spec.h"
#include "planner/workload/dataset.h"

namespace evenkeel::planner {

// The share of a pack's units that the rank with the most of them encodes, from 1 / ranks to 1.
// Images stay whole, so it is above 1 / ranks if packs have few images, or one large image.
struct EncoderShare {
  double mean = 1;     // of the mean pack
  double largest = 1;  // of the pack that must fit: at most, whatever its images
};

// Returns the shares where `ranks` share the images of one encoder, the largest image first, each
// to the rank with the fewest units. At native resolution, all units of a sample are one image;
// else each unit is one (a tile, a frame, a stretch of audio). The mean pack's images are taken at
// even steps of the distribution of images.
EncoderShare EncoderShareOf(const Dataset& dataset, const Encoder& encoder, size_t index,
                            int64_t ranks, const PackShape& mean, const PackShape& largest);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_ENCODER_SHARE_H_
