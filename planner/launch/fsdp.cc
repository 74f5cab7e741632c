// PyTorch FSDP2 (torch.distributed.fsdp.fully_shard, torch 2.6 and later): makes a module with a
// function that wraps a model and the loop over a step's packs.
#include <string>
#include <string_view>
#include <utility>

#include "planner/launch/batch_text.h"
#include "planner/launch/emitters.h"
#include "planner/launch/python_parts.h"

namespace evenkeel::planner {
namespace {

constexpr const char* kShard = R"(

def shard(model, language_layers, encoder_layers=()):
    """Wraps a model whose layers are in torch.nn.ModuleLists; returns it and its device mesh."""
    import torch
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    recompute(language_layers, encoder_layers)
    mesh = init_device_mesh("cuda", (DATA_PARALLEL, CONTEXT_PARALLEL), mesh_dim_names=("data", "context"))
    sharded = mesh["data", "context"]._flatten("shard") if CONTEXT_PARALLEL > 1 else mesh["data"]
    policy = MixedPrecisionPolicy(
        param_dtype=getattr(torch, PARAM_DTYPE), reduce_dtype=getattr(torch, REDUCE_DTYPE)
    )
    for layer in (*encoder_layers, *language_layers):
        fully_shard(layer, mesh=sharded, mp_policy=policy, reshard_after_forward=RESHARD_AFTER_FORWARD)
    fully_shard(model, mesh=sharded, mp_policy=policy, reshard_after_forward=RESHARD_AFTER_FORWARD)
    return model, mesh


def run_step(model, packs, loss_of):
    """Forward and backward of this rank's MICRO_BATCHES packs of a step.

    FSDP averages over ranks: loss_of(model, pack) is the sum of token losses, over the step's tokens per rank.
    """
    packs = list(packs)
    for i, pack in enumerate(packs):
        model.set_is_last_backward(i + 1 == len(packs))
        loss_of(model, pack).backward()
)";

constexpr const char* kStepInBackward = R"(

def step_in_backward(model, optimizer_of):
    """Updates each weight inside the backward pass, and frees its gradient; call it after shard().

    optimizer_of([weight]) makes the optimizer of one weight. Returns all of them, for the schedule of their rates. No
    gradient is left to clip, and a step has one pack.
    """
    optimizers = {}

    def update(weight):
        optimizers[weight].step()
        optimizers[weight].zero_grad()

    for weight in model.parameters():
        if weight.requires_grad:
            optimizers[weight] = optimizer_of([weight])
            weight.register_post_accumulate_grad_hook(update)
    return list(optimizers.values())
)";

// Returns shard() and run_step(), with weights in host memory if so.
std::string ShardText(bool offloads_weights) {
  std::string text = kShard;
  if (!offloads_weights) return text;
  const auto replace = [&text](std::string_view from, std::string_view to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  };
  replace("import MixedPrecisionPolicy", "import CPUOffloadPolicy, MixedPrecisionPolicy");
  replace("    for layer in (*encoder_layers",
          "    host = CPUOffloadPolicy()  # weights, gradients and the optimizer's states\n"
          "    for layer in (*encoder_layers");
  replace("mp_policy=policy,", "mp_policy=policy, offload_policy=host,");
  return text;
}

std::string FsdpFile(const Trials& trials, const PlanSpec& spec) {
  const Parallelism& p = spec.parallelism;
  const Training& t = trials.job().training;
  const char* half = trials.job().launch.float16 ? "float16" : "bfloat16";
  return PythonHead(trials,
                    "The plan for PyTorch FSDP2: shard() wraps the model, run_step() runs a "
                    "step's packs.") +
         "\nDATA_PARALLEL = " + std::to_string(p.data) +
         "\nCONTEXT_PARALLEL = " + std::to_string(p.context) +
         "\n# Packs of each rank and step; each holds at most MAX_TOKENS tokens.\nMICRO_BATCHES "
         "= " +
         std::to_string(spec.micro_batches) +
         "\nMAX_TOKENS = " + std::to_string(trials.batching().rule.token_cap) +
         (t.micro_batch_samples > 0
              ? "\n# Each pack is this many samples, padded to one length.\nSAMPLES = " +
                    std::to_string(t.micro_batch_samples)
              : "") +
         "\nPARAM_DTYPE = \"" + half + "\"\nREDUCE_DTYPE = \"" +
         (t.distributed_gradients_fp32 ? "float32" : half) +
         "\"\n# Weights are gathered again in the backward pass (ZeRO-3).\nRESHARD_AFTER_FORWARD = "
         "True\n" +
         PythonRecompute(RecomputedOf(spec)) + ShardText(t.offload.weights) +
         (t.fused_step ? kStepInBackward : "");
}

}  // namespace

void EmitFsdp(const Trials& trials, Launch* out) {
  const std::optional<Trial> runs =
      ShardedRun(trials, "PyTorch FSDP", /*experts=*/false, &out->notes);
  if (!runs) {
    out->match = LaunchMatch::kNone;
    return;
  }
  Settle(trials, *runs, out);
  out->files.push_back({"evenkeel_fsdp.py", FsdpFile(trials, runs->spec)});
  NoteSeveralEncoders(trials.job().model, kEncodersInOrder, out);
  if (runs->spec.parallelism.context > 1) {
    out->notes.push_back({"batches", "Each pack is shared by " +
                                         std::to_string(runs->spec.parallelism.context) +
                                         " ranks: attention must exchange over the mesh's "
                                         "\"context\" dimension."});
  }
  NoteRecipe(trials.job().training, "torchao's converter, before shard()", out);
  if (trials.job().launch.float16)
    out->notes.push_back({"precision", "float16 needs a gradient scaler around run_step()."});
  out->notes.push_back({"batches", BatchText(trials, runs->spec, LaunchFramework::kFsdp)});
}

}  // namespace evenkeel::planner
