// Recorded profiles, and the calibrations that they give: docs/COST_MODEL.md, section 7.
#ifndef EVENKEEL_PLANNER_COST_CALIBRATION_BOOK_H_
#define EVENKEEL_PLANNER_COST_CALIBRATION_BOOK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/shared_value.h"
#include "planner/calibration.h"
#include "planner/cost/measured_profile.h"
#include "planner/cost/profile_rating.h"
#include "planner/hardware/gpu_spec.h"
#include "planner/job.h"
#include "planner/model/model_spec.h"

namespace evenkeel::planner {

struct RatedProfile {
  int64_t revision = 0;
  MeasuredProfile profile;
  std::vector<Rating> ratings;  // ratings of its layer times and memory
};
using RatedProfilePtr = std::shared_ptr<const RatedProfile>;

// All active profiles, by GPU type and component. Immutable.
class CalibrationBook {
 public:
  CalibrationBook() = default;
  // `model_version` is the version of this planner and catalogue. Measured steps that another
  // version predicted do not count.
  CalibrationBook(const std::vector<RatedProfilePtr>& active, const std::string& model_version);

  // Returns the calibration for a job with this model on this GPU type. A component counts if it
  // has the catalogue's name and its dimensions.
  Calibration For(const ModelSpec& model, const GpuSpec& gpu) const;
  // Returns the calibration for a job with this model on this cluster, with the collectives that
  // were measured on such a cluster.
  Calibration For(const ModelSpec& model, const Cluster& cluster) const;
  // Returns the calibration for the model or component that a profile measures, without its
  // stand-in.
  Calibration For(const MeasuredProfile& profile) const;

  // Returns all ratings of the profile's component on its GPU type, under any tensor degree.
  std::vector<Rating> RatingsLike(const MeasuredProfile& profile) const;
  // Returns the measured over the predicted times of those steps of the same model and GPU type
  // that count.
  std::vector<double> StepRatiosLike(const MeasuredProfile& profile) const;

 private:
  // (GPU type, component name).
  using Key = std::pair<std::string, std::string>;
  struct Component {
    std::vector<Rating> ratings;
    std::vector<LayerCalibration> layers;
    std::vector<int64_t> revisions;
    SharedValue<ModelSpec> model;  // the component itself, or a model that contains it
  };

  struct RecordedStep {
    RatedProfilePtr rated;
    size_t index = 0;  // in the steps of the profile
    const MeasuredProfile& profile() const { return rated->profile; }
    const StepMeasurement& step() const { return profile().steps[index]; }
    // Returns whether this is a step of such a model on such a GPU that was predicted from these
    // layer times: others would be corrected twice.
    bool IsLike(const ModelSpec& model, const GpuSpec& gpu, const std::string& layer_version) const;
  };

  // A calibration in the making, and the revisions that it comes from.
  struct Draft {
    Calibration calibration;
    std::vector<int64_t> revisions;
  };
  void AddComponents(const ModelSpec& model, bool encoder_only, const GpuSpec& gpu,
                     Draft* draft) const;
  // A curve, and the revision that it comes from.
  struct RecordedCurve {
    int64_t revision = 0;
    CollectiveCurve curve;
  };

  // Returns whether a job uses a curve.
  using CurveTest = std::function<bool(const CollectiveCurve&)>;
  // Adds the curves for which `uses` returns true.
  void AddCollectives(const GpuSpec& gpu, const CurveTest& uses, Draft* draft) const;
  void AddSteps(const ModelSpec& model, const GpuSpec& gpu, Draft* draft) const;
  Calibration Make(const ModelSpec& model, bool encoder_only, const GpuSpec& gpu,
                   const CurveTest& uses) const;

  std::map<Key, Component> components_;
  std::map<Key, std::vector<RecordedStep>> steps_;            // those that this version predicted
  std::map<std::string, std::vector<RecordedCurve>> curves_;  // by GPU type, in BeforeInOrder
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_CALIBRATION_BOOK_H_
