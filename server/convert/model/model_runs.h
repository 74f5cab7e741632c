// The transformer layers of a model as runs of one kind, handed out front to back.
#ifndef EVENKEEL_SERVER_CONVERT_MODEL_MODEL_RUNS_H_
#define EVENKEEL_SERVER_CONVERT_MODEL_MODEL_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/model/layer_kind.h"
#include "planner/model/model_spec.h"

namespace evenkeel::server {

class ModelRuns {
 public:
  explicit ModelRuns(const planner::ModelSpec& model);

  struct Run {
    planner::LayerKind kind;
    int64_t count;
  };

  // Takes the next `count` layers, only of `kind` if it is set. Takes fewer if the model ends or
  // another kind begins.
  std::vector<Run> Take(int64_t count, std::optional<planner::LayerKind> kind);

  int64_t left() const;          // returns the number of layers not handed out yet
  std::string LeftText() const;  // returns "12 encoder, then 48 dense layers", or "none"
  std::string Text() const;      // LeftText() of the whole model

 private:
  static std::string TextOf(const std::vector<Run>& runs);

  std::vector<Run> all_, left_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_MODEL_MODEL_RUNS_H_
