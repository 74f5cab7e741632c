// Recorded profiles, and what they say about a job: docs/COST_MODEL.md, section 7.
#ifndef EVENKEEL_PLANNER_COST_CALIBRATION_BOOK_H_
#define EVENKEEL_PLANNER_COST_CALIBRATION_BOOK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "planner/calibration.h"
#include "planner/catalog/specs.h"
#include "planner/cost/measured_profile.h"
#include "planner/cost/profile_rating.h"

namespace evenkeel::planner {

// A recorded profile with its ratings.
struct RatedProfile {
  int64_t revision = 0;
  Profile profile;
  std::vector<Rating> ratings;  // of its layer times and memory
};
using RatedProfilePtr = std::shared_ptr<const RatedProfile>;

// All profiles in force, by GPU type and component. Immutable.
class CalibrationBook {
 public:
  CalibrationBook() = default;
  // `model_version`: of this planner and catalogue. Steps that another one predicted say nothing
  // about this one.
  CalibrationBook(const std::vector<RatedProfilePtr>& active, std::string model_version);

  // What concerns a job of this model on this GPU type. A component counts if it has the
  // catalogue's name and its dimensions.
  Calibration For(const ModelSpec& model, const GpuSpec& gpu) const;
  // Likewise for what a profile measures: without its stand-in.
  Calibration For(const Profile& profile) const;

  // Ratings of the same component and GPU as the profile's, any tensor degree.
  std::vector<Rating> RatingsLike(const Profile& profile) const;
  // Likewise the measured over the predicted time of steps that count.
  std::vector<double> StepRatiosLike(const Profile& profile) const;

 private:
  // GPU type, then the component's name.
  using Key = std::pair<std::string, std::string>;
  struct Component {
    std::vector<Rating> ratings;
    std::vector<LayerCalibration> layers;
    std::vector<int64_t> revisions;
    ModelSpec model;  // it, or one that has it
  };

  void AddComponents(const ModelSpec& model, bool encoder_only, const GpuSpec& gpu,
                     Calibration* calibration) const;
  void AddSteps(const ModelSpec& model, const GpuSpec& gpu, Calibration* calibration) const;
  Calibration Make(const ModelSpec& model, bool encoder_only, const GpuSpec& gpu) const;

  std::string model_version_;
  std::map<Key, Component> components_;
  std::map<Key, std::vector<std::pair<int64_t, StepMeasurement>>> steps_;  // with revisions
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_CALIBRATION_BOOK_H_
