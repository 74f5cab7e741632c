#include "tests/planner/plan_dump.h"

#include <ios>
#include <sstream>

namespace evenkeel::planner {
namespace {

class Dump {
 public:
  Dump() { out_ << std::hexfloat; }

  template <typename... Values>
  void Line(const char* name, const Values&... values) {
    out_ << name;
    ((out_ << ' ' << values), ...);
    out_ << '\n';
  }

  void Add(const BatchRule& r) {
    Line("rule", r.unit_cap, r.token_cap, r.keep_units, r.keep_tokens, r.iterations, r.seed,
         r.caps_derived, r.sampled, r.oversize_samples, r.samples_per_pack, r.packs, r.mean_units,
         r.mean_tokens, r.pad_ratio, r.dist_ratio_units, r.dist_ratio_tokens,
         r.dist_ratio_attention);
  }
  void Add(const Parallelism& p) { Line("degrees", p.tensor, p.pipeline, p.data); }
  void Add(const MemoryParts& m) {
    Line("memory", m.weights, m.gradients, m.optimizer, m.activations, m.workspace, m.communication,
         m.framework, m.allocator_reserve, m.gradient_pool);
  }
  void Add(const std::vector<LayerGroup>& layers) {
    for (const LayerGroup& g : layers)
      Line("layers", static_cast<int>(g.kind), g.first, g.count, g.recomputed_count());
  }
  void Add(const StagePlan& s) {
    Line("stage", s.forward_ns, s.backward_ns, s.recompute_ns, s.send_ns, s.send_bytes, s.in_flight,
         s.parameters, s.capacity_bytes);
    Add(s.layers);
    Add(s.memory);
  }
  void Add(const Prediction& p) {
    const StepTime& t = p.step;
    Line("step", t.encoder_compute_ns, t.language_compute_ns, t.recompute_ns,
         t.tensor_communication_ns, t.pipeline_bubble_ns, t.imbalance_ns, t.data_sync_ns,
         t.optimizer_ns, t.total_ns);
    Line("prediction", p.micro_batches, p.steps_per_epoch, p.holed_steps, p.samples_per_step,
         p.epoch_seconds, p.gpu_days, p.cost, p.mfu, p.llm_tokens_per_second, p.bubble_ratio);
  }
  void Add(const LadderRung& r) {
    Line("rung", r.name, r.fits, r.gpu_days, r.step_ns, r.pad_ratio, r.dist_ratio_units,
         r.dist_ratio_tokens);
  }
  void Add(const Proof& p) {
    Line("proof", p.step_ns, p.lower_bound_ns, p.gap, p.plan_lower_bound_ns, p.closed_form_ns,
         p.closed_form_optimum_ns, static_cast<int>(p.end), p.parallelisms, p.parallelisms_pruned,
         p.parallelisms_unfit, p.parallelisms_unsearched, p.partitions_examined);
  }
  void Add(const Alternative& a) {
    Add(a.parallelism);
    for (const int64_t layers : a.stage_layers) Line("alternative layers", layers);
    Line("alternative", a.step_ns, a.samples_per_step, a.gpu_days, a.least_free_bytes);
  }
  void Add(const Misfit& m) {
    Add(m.parallelism);
    Line("misfit", m.stage, m.capacity_bytes, m.short_bytes);
    Add(m.layers);
    Add(m.memory);
    for (const Remedy& r : m.remedies) {
      Line("remedy", static_cast<int>(r.kind), r.text, r.gpu_count, r.unit_cap, r.token_cap, r.gpu);
    }
  }

  std::string Text() const { return out_.str(); }

 private:
  std::ostringstream out_;
};

}  // namespace

std::string DumpPlan(const Plan& plan) {
  Dump dump;
  dump.Line("fits", plan.fits());
  for (const FigureBasis& f : plan.figures)
    dump.Line("figure", f.figure, static_cast<int>(f.basis), f.detail);
  dump.Add(plan.batch_rule);
  dump.Add(plan.parallelism);
  for (const StagePlan& stage : plan.stages) dump.Add(stage);
  dump.Add(plan.prediction);
  for (const LadderRung& rung : plan.ladder) dump.Add(rung);
  dump.Add(plan.proof);
  for (const Alternative& alternative : plan.alternatives) dump.Add(alternative);
  const Placement& placement = plan.placement;
  dump.Line("placement", placement.gpus_per_node, placement.nodes,
            placement.pipeline_neighbours_cross_nodes);
  if (plan.misfit) dump.Add(*plan.misfit);
  return dump.Text();
}

}  // namespace evenkeel::planner
