#include "server/convert/config/language_model.h"

#include <algorithm>
#include <string>

#include "planner/base/integers.h"

namespace evenkeel::server {
namespace {

constexpr IntRange kWidths = {64, 262144}, kHeads = {1, 1024}, kHeadSizes = {8, 512};

class LanguageModelReader {
 public:
  LanguageModelReader(ConfigValues& values, const ConfigArchitecture& architecture)
      : values_(values), architecture_(architecture) {}

  planner::LanguageModel Read() {
    CheckFixed();
    ReadShape();
    ReadFlags();
    if (architecture_.latent) ReadLatent();
    if (architecture_.recurrent.layers != MixerLayers::kNone) ReadRecurrent();
    if (architecture_.experts.layers != ExpertLayers::kNone &&
        values_.Flag(architecture_.experts.present))
      ReadExperts();
    ReadOthers();
    if (values_.valid()) ReadLayers(values_, architecture_, model_);
    return std::move(model_);
  }

 private:
  void CheckFixed() {
    for (const auto& [key, only] : architecture_.only) {
      const auto* value = values_.Find(key);
      if (value != nullptr && *value != nlohmann::json::parse(only))
        values_.NotYet(values_.Shown(key) + " other than " + std::string(only));
    }
  }

  void ReadShape() {
    model_.layers = Layers();
    model_.hidden = values_.Required(architecture_.width, {64, 65536});
    model_.heads = values_.Required(architecture_.heads, kHeads);
    model_.vocab = values_.Required("vocab_size", {256, 2097152});
    model_.ffn = Ffn();
    model_.learned_positions = values_.Or(architecture_.positions, {1, 1 << 24}, 0);
    if (!architecture_.positions.empty()) model_.learned_positions += architecture_.more_positions;
    const int64_t kv_heads = architecture_.grouped
                                 ? values_.Or("num_key_value_heads", kHeads, model_.heads)
                             : values_.Flag(architecture_.one_key_head) ? 1
                                                                        : model_.heads;
    model_.kv_heads = architecture_.latent ? model_.heads : kv_heads;
    const int64_t head = values_.Or("head_dim", kHeadSizes, 0);
    if (architecture_.latent) {
      model_.head_dim = std::max<int64_t>(8, head);
    } else if (head > 0) {
      model_.head_dim = head;
    } else if (values_.valid() && model_.hidden % model_.heads != 0) {
      values_.Fail("lacks \"head_dim\", and " + values_.Shown(architecture_.heads) +
                   " does not divide " + values_.Shown(architecture_.width));
    } else {
      model_.head_dim = model_.hidden / model_.heads;
    }
    if (values_.valid() && !architecture_.head_size &&
        model_.head_dim * model_.heads != model_.hidden)
      values_.Fail(values_.Shown("head_dim") + " must be " +
                   std::to_string(model_.hidden / model_.heads) + ": " +
                   std::string(values_.model_type()) + " has no heads of another width");
    if (values_.valid() && model_.heads % model_.kv_heads != 0)
      values_.Fail("\"num_key_value_heads\" must divide \"num_attention_heads\" (" +
                   std::to_string(model_.heads) + "), but is " + std::to_string(model_.kv_heads));
    model_.tied_embeddings = values_.Flag(architecture_.tied);
    if (values_.Or(architecture_.embedding_width, {1, 65536}, model_.hidden) != model_.hidden)
      values_.NotYet(values_.Shown(architecture_.embedding_width) + " other than " +
                     values_.Shown(architecture_.width));
  }

  // If each layer has a width of its own, this is the first layer's. ReadLayers sets the others.
  int64_t Ffn() {
    const auto* width = values_.Find(architecture_.ffn);
    if (architecture_.ffn_adjusted) return AdjustedFfn();
    if (width == nullptr && architecture_.ffn_times > 0)
      return architecture_.ffn_times * model_.hidden;
    if (width == nullptr || !width->is_array()) return values_.Required(architecture_.ffn, kWidths);
    const auto widths = values_.Numbers(architecture_.ffn, kWidths);
    return widths && !widths->empty() ? widths->front() : 0;
  }

  // Two thirds, a multiple of it, rounded up.
  int64_t AdjustedFfn() {
    const int64_t whole = values_.Required(architecture_.ffn, kWidths);
    const auto* times = values_.Find("block_ffn_dim_multiplier");
    const int64_t unit = values_.Or("block_multiple_of", {1, 262144}, 256);
    if (!values_.Flag({.key = "block_auto_adjust_ff_dim", .fixed = true})) return whole;
    const double factor = times == nullptr ? 1 : times->is_number() ? times->get<double>() : 0;
    if (factor < 0.01 || factor > 100)
      values_.Fail(values_.Shown("block_ffn_dim_multiplier") + " must be from 0.01 to 100");
    const auto scaled = static_cast<int64_t>(factor * static_cast<double>(2 * whole / 3));
    return planner::CeilDivide(scaled, unit) * unit;
  }

  // Where layers are listed, their number may be left out.
  int64_t Layers() {
    constexpr IntRange kLayers = {1, 512};
    if (architecture_.recurrent.layers == MixerLayers::kBlocks) {
      const int64_t listed = BlocksListed(values_);
      if (listed > 0) return values_.Or("num_hidden_layers", kLayers, listed);
    }
    return values_.Required(architecture_.layers, kLayers);
  }

  void ReadFlags() {
    model_.norm = architecture_.norm;
    model_.norm_weights = values_.Flag(architecture_.norm_weights);
    model_.layer_norms = values_.Flag(architecture_.parallel) ? 1 : architecture_.layer_norms;
    model_.gated_mlp = architecture_.gated;
    model_.qkv_bias = values_.Flag(architecture_.qkv_bias);
    model_.key_bias = architecture_.key_bias;
    model_.out_bias = values_.Flag(architecture_.out_bias);
    model_.mlp_bias = values_.Flag(architecture_.mlp_bias);
    model_.head_bias = values_.Flag(architecture_.head_bias);
    model_.qk_norm = values_.Flag(architecture_.head_norm);
    model_.width_qk_norm = values_.Flag(architecture_.width_norm);
    model_.attention_sinks = architecture_.sinks;
    model_.embedding_norm = architecture_.embedding_norm;
    model_.more_rows = architecture_.more_rows;
    const auto* activation =
        architecture_.scalars_with.empty() ? nullptr : values_.Find("hidden_act");
    if (activation != nullptr && *activation == std::string(architecture_.scalars_with))
      model_.mlp_scalars = 2;
    model_.attention_gate = values_.Flag(architecture_.attention_gate);
  }

  // Without a default, values share the width.
  int64_t ValueSize() {
    if (values_.Find("v_head_dim") != nullptr) return values_.Required("v_head_dim", kHeadSizes);
    if (values_.valid() && model_.hidden % model_.heads != 0)
      values_.Fail("lacks \"v_head_dim\", and the heads do not divide the width");
    return model_.hidden / model_.heads;
  }

  void ReadLatent() {
    constexpr IntRange kRanks = {1, 65536};
    // Here null has a meaning: queries are projected directly.
    const int64_t query_rank =
        values_.IsNull("q_lora_rank") ? 0 : values_.Required("q_lora_rank", kRanks);
    model_.mla = planner::MlaSpec{.q_lora_rank = query_rank,
                                  .kv_lora_rank = values_.Required("kv_lora_rank", kRanks),
                                  .qk_nope_dim = values_.Required("qk_nope_head_dim", kHeadSizes),
                                  .qk_rope_dim = values_.Required("qk_rope_head_dim", kHeadSizes),
                                  .v_dim = ValueSize()};
    if (architecture_.index) {
      model_.mla->index_heads = values_.Required("index_n_heads", kHeads);
      model_.mla->index_dim = values_.Required("index_head_dim", kHeadSizes);
      if (values_.valid() && model_.mla->q_lora_rank == 0)
        values_.Fail("\"q_lora_rank\" must not be null: the index reads it");
    }
    if (values_.Flag({.key = "attention_bias"}))
      values_.NotYet("\"attention_bias\" with latent attention; it must be false");
  }

  // The model's own head size may follow from its heads.
  int64_t HeadSize(std::string_view key, IntRange range) {
    return key == "head_dim" ? model_.head_dim : values_.Required(key, range);
  }

  int64_t RecurrentHeads(const ConfigRecurrent& from, std::string_view key) {
    return from.derived ? values_.Or(key, kHeads, model_.heads) : values_.Required(key, kHeads);
  }

  int64_t KeyWidth(const ConfigRecurrent& from, IntRange range) {
    if (!from.derived) return HeadSize(from.key_dim, range);
    const int64_t heads = RecurrentHeads(from, from.key_heads);
    return values_.Or(from.key_dim, range, 3 * model_.hidden / (4 * heads));
  }

  void ReadRecurrent() {
    constexpr IntRange kStates = {4, 1024}, kConvolutions = {2, 16}, kExpansions = {1, 16};
    const ConfigRecurrent& from = architecture_.recurrent;
    planner::RecurrentSpec to{.scan = from.scan};
    if (from.scan == planner::ScanKind::kConvolution) {
      to.conv_width = values_.Required(from.conv, kConvolutions);
      to.conv_bias = to.linear_bias = values_.Flag(from.conv_bias);
      to.value_heads = model_.hidden, to.value_dim = to.key_heads = 1;
      to.norm = false;
      model_.recurrent = to;
      return;
    }
    to.key_dim = KeyWidth(from, kStates);
    if (!from.conv.empty()) to.conv_width = values_.Required(from.conv, kConvolutions);
    to.conv_bias = values_.Flag(from.conv_bias);
    to.linear_bias = values_.Flag(from.linear_bias);
    to.norm = values_.Flag(from.norm);
    const int64_t expand = from.expand.empty() ? 0 : values_.Required(from.expand, kExpansions);
    if (from.scan == planner::ScanKind::kSelective) {
      to.value_heads = expand * model_.hidden;
      to.value_dim = to.key_heads = 1;
      to.step_rank = values_.IsAuto(from.step_rank) ? planner::CeilDivide(model_.hidden, 16)
                                                    : values_.Required(from.step_rank, {1, 65536});
    } else {
      to.key_heads = RecurrentHeads(from, from.key_heads);
      to.value_heads = RecurrentHeads(from, from.value_heads);
      const bool by_width = expand > 0 && values_.IsAuto(from.value_dim);
      const int64_t width = values_.Or(from.width, kWidths, expand * model_.hidden);
      to.value_dim = by_width       ? width / std::max<int64_t>(1, to.value_heads)
                     : from.derived ? values_.Or(from.value_dim, kHeadSizes, 2 * to.key_dim)
                                    : HeadSize(from.value_dim, kHeadSizes);
      if (to.scan == planner::ScanKind::kChannelDelta) to.gate_rank = to.value_dim;
      to.full_gate = values_.Flag(from.full_gate);
      if (values_.valid() && to.value_heads % to.key_heads != 0)
        values_.Fail(values_.Shown(from.key_heads) + " must divide " +
                     values_.Shown(from.value_heads));
    }
    model_.recurrent = to;
  }

  // A number, or a list of equal ones: one per layer.
  int64_t Uniform(std::string_view key, IntRange range) {
    const auto* value = values_.Find(key);
    if (value == nullptr || !value->is_array()) return values_.Required(key, range);
    const auto numbers = values_.Numbers(key, range).value_or(std::vector<int64_t>{});
    const bool equal =
        !numbers.empty() && std::all_of(numbers.begin(), numbers.end(),
                                        [&](int64_t number) { return number == numbers.front(); });
    if (equal) return numbers.front();
    values_.NotYet(values_.Shown(key) + " that differs from layer to layer");
    return range.min;
  }

  void ReadExperts() {
    const ConfigExperts& from = architecture_.experts;
    planner::MoeSpec moe;
    const int64_t at_least = from.may_be_none ? 0 : from.one_is_dense ? 1 : 2;
    moe.experts = Uniform(from.count, {at_least, 4096});
    if (!from.shared_width.empty()) moe.shared_ffn = values_.Or(from.shared_width, {0, 262144}, 0);
    if (moe.experts == 0) {
      model_.ffn = moe.shared_ffn;
      return;
    }
    moe.top_k = Uniform(from.per_token, {1, std::max<int64_t>(1, moe.experts)});
    if (from.one_is_dense && moe.experts == 1) {
      for (const char* key : {"expert_layer_period", "expert_layer_offset"}) values_.Find(key);
      return;
    }
    if (from.of_images) {
      const auto widths = values_.Numbers(from.width, kWidths).value_or(std::vector<int64_t>{});
      if (values_.valid() && widths.size() != 2)
        values_.Fail(values_.Shown(from.width) + " must be two numbers: of text and of images");
      if (!values_.valid()) return;
      moe.expert_ffn = widths[0], moe.image_ffn = widths[1];
    } else {
      moe.expert_ffn = values_.Required(from.width, kWidths);
    }
    if (!from.shared.empty()) {
      const int64_t shared = values_.Or(from.shared, {0, 64}, 0);
      if (from.shared_width.empty()) moe.shared_ffn = shared * moe.expert_ffn;
    }
    // If the config also has their number, 0 stands for the width of dense MLPs.
    if (!from.shared.empty() && !from.shared_width.empty() && moe.shared_ffn == 0)
      moe.shared_ffn = model_.ffn;
    if (!from.latent.empty()) moe.latent = values_.Or(from.latent, kWidths, 0);
    moe.expert_bias = from.router_bias;
    moe.latent_norm = values_.Flag(from.latent_norm) && moe.latent > 0;
    moe.router_scales = from.router_scales;
    model_.layer_norms += from.norms;
    moe.mlp_bias = from.mlp_bias || model_.mlp_bias;
    if (from.unbiased && model_.mlp_bias)
      values_.NotYet(values_.Shown(architecture_.mlp_bias.key) +
                     " with experts that have no bias; it must be false");
    moe.shared_gate = from.shared_gate;  // without a shared expert, too
    model_.moe = moe;
  }

  void ReadOthers() {
    constexpr IntRange kRanks = {1, 65536};
    if (architecture_.block_index) {
      model_.index = planner::IndexSpec{.heads = values_.Required("index_n_heads", kHeads),
                                        .head_dim = values_.Required("index_head_dim", kHeadSizes)};
      // Layers read these where they use the index.
      for (const char* key : {"index_block_size", "index_topk_blocks"}) values_.Find(key);
    }
    if (architecture_.compressed) {
      model_.compressed =
          planner::CompressedSpec{.q_rank = values_.Required("q_lora_rank", kRanks),
                                  .out_groups = values_.Required("o_groups", kHeads),
                                  .out_rank = values_.Required("o_lora_rank", kRanks),
                                  .index_heads = values_.Required("index_n_heads", kHeads),
                                  .index_dim = values_.Required("index_head_dim", kHeadSizes)};
      if (values_.valid() && model_.heads % model_.compressed->out_groups != 0)
        values_.Fail("\"o_groups\" must divide \"num_attention_heads\"");
      if (values_.Flag(kAttentionBias))
        values_.NotYet("\"attention_bias\" with compressed attention; it must be false");
    }
    if (!architecture_.streams.empty())
      model_.streams = values_.Required(architecture_.streams, {2, 16});
    if (model_.streams > 1) model_.stream_kind = architecture_.stream_kind;
    const int64_t blocks = values_.Or(architecture_.stream_blocks, {1, 512}, 0);
    if (blocks > 0) {  // all of them, and the one that a layer is in
      model_.streams = planner::CeilDivide(model_.layers, blocks) + 1;
      model_.stream_kind = planner::StreamKind::kBlocks;
    }
    model_.laurel_rank = values_.Or(architecture_.laurel, kRanks, 0);
    // With alternating updates, transformers builds parts that scale vectors of width 0.
    const int64_t least = architecture_.laurel.empty() ? 0 : 1;
    const int64_t width = values_.Or(architecture_.per_layer_width, {least, 65536}, 0);
    if (width > 0) {
      constexpr IntRange kVocabularies = {256, 2097152};
      const int64_t vocab = values_.Required(architecture_.per_layer_vocab, kVocabularies);
      model_.per_layer = planner::PerLayerSpec{.vocab = vocab, .width = width};
      ++model_.layer_norms;
    }
    values_.Find(architecture_.per_layer_vocab);
  }

  ConfigValues& values_;
  const ConfigArchitecture& architecture_;
  planner::LanguageModel model_;
};

}  // namespace

planner::LanguageModel ReadLanguageModel(ConfigValues& values,
                                         const ConfigArchitecture& architecture) {
  return LanguageModelReader(values, architecture).Read();
}

}  // namespace evenkeel::server
