#include "tests/server/convert/requests.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/convert/job/from_proto.h"

namespace evenkeel::server {
namespace {

// The model of DescribedText.
const char kDescribedModel[] = R"(
    model {
      name: "mine"
      encoders {
        modality: MODALITY_VIDEO
        layers: 24 hidden_size: 1024 attention_heads: 16 head_size: 64 ffn_size: 4096
        gated_mlp: false norm: NORM_LAYER tokens_per_unit: 1025 llm_tokens_per_unit: 256
        train_mode: TRAIN_MODE_LORA qk_norm: true layer_scale: true
        lora { rank: 8 targets: [LORA_TARGET_MLP_UP, LORA_TARGET_QKV] }
        projector { hidden_size: 2048 train_mode: TRAIN_MODE_FULL }
      }
      language_model {
        layers: 32 hidden_size: 4096 attention_heads: 32 kv_heads: 8 head_size: 128
        ffn_size: 14336 gated_mlp: true norm: NORM_RMS vocabulary_size: 32000
        tied_embeddings: true
        mixture_of_experts {
          experts: 8 experts_per_token: 2 expert_ffn_size: 1024 shared_ffn_size: 512
          first_dense_layers: 1
        }
        train_mode: TRAIN_MODE_FULL qk_norm: true
        latent_attention {
          q_lora_rank: 768 kv_lora_rank: 256 qk_nope_size: 128 qk_rope_size: 64 value_size: 96
        }
      }
      encoder_train_mode: TRAIN_MODE_FULL
      language_model_train_mode: TRAIN_MODE_FULL
      lora { rank: 32 targets: LORA_TARGET_ATTENTION_OUT }
    })";

}  // namespace

v1::PlanJobRequest Parse(const std::string& text) {
  v1::PlanJobRequest request;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &request)) << text;
  return request;
}

std::string MinimalText() {
  return R"(job {
    model { name: "internvl-chat-v1.5" }
    cluster { pools { gpu_type: "a100-sxm-80gb" gpu_count: 32 } }
  })";
}

std::string DescribedText() {
  return std::string("job {") + kDescribedModel + R"(
    dataset {
      histogram {
        units: [1, 5] llm_tokens: [300, 1400] sample_count: [1000, 2000] encoder_count: 1
      }
    }
    cluster {
      pools {
        gpu {
          name: "next-gpu" dense_16bit_flops_per_second: 1e15 memory_bytes: 103079215104
          memory_bytes_per_second: 4e12 scaleup_bytes_per_second: 450e9
          pcie_bytes_per_second: 63e9
        }
        gpu_count: 32 gpus_per_node: 8 intra_node_bytes_per_second: 400e9
        network_tiers { name: "rack" gpu_count: 24 usable_gpu_count: 16 }
        network_tiers { gpu_count: 32 }
        network_tiers { oversubscription_ratio: 2 }
        inter_node_bytes_per_second: 50e9 network_fabric: NETWORK_FABRIC_EFA
        reserved_bytes: 1073741824 price_per_gpu_hour: 2.5
      }
    }
    training {
      global_batch_samples: 256 unit_cap: 20 token_cap: 8192
      framework: TRAINING_FRAMEWORK_MEGATRON precision: PRECISION_FP16
      trainer { name: "nanotron" version: "0.4" }
      optimizer: OPTIMIZER_ADAM zero_stage: ZERO_STAGE_0
      gradient_precision: GRADIENT_PRECISION_16BIT epochs: 3 seed: 7 isf_iterations: 5
      dummy_vision_units: 1 packer: PACKER_BEST_FIT_DECREASING order_window: 16
      execution {
        sequence_parallel: false attention_kernel: ATTENTION_KERNEL_UNFUSED
        context_exchange: CONTEXT_EXCHANGE_RING dropout: true fused_loss: false
        overlap_gradient_reduce: false overlap_weight_gather: false overlap_tensor: true
        expert_tensor_parallel: 2 fused_kernels: false compiled_loss: true
        fused_weight_gradients: false host_launch_seconds: 0.0001 collective_launches: 5
        copies_reduced_gradients: true gathers_to_recompute: true
        expert_capacity_ratio: 1.5 grouped_experts: false bucket_bytes: 1000000
        kernel_rate_ratio: 0.75 rank_gather_seconds: 0.001 weight_hook_seconds: 0.0002 loss_logit_bytes: 12
        overlap_experts: true expert_dispatcher: EXPERT_DISPATCHER_LEAST_TIME
        keeps_quantised_inputs: false holds_quantised_weights: true
        casts_master_weights: true update_parameter_bytes: 4 keeps_gathered_inputs: false
        accumulates_whole_gradients: true fused_norms: true stops_recompute_early: true
        pools_gradients: true tensor_loss_logit_bytes: 4 gather_traffic_bytes: 8
        reduce_traffic_bytes: 10 reduces_fp32: true copies_tensor_rows: true
        fp32_adapters: true adapter_gather_seconds: 0.0004 repeats_expert_exchanges: true
        fused_activation: true fused_rotary: false rms_norm_bytes: 5 autocast: false
        stores_weight_remainders: false
      }
    }
    constraints {
      tensor_parallel { min: 1 max: 4 } pipeline_parallel { min: 2 max: 8 }
      data_parallel { min: 1 max: 16 } context_parallel { min: 1 max: 1 }
      expert_parallel { min: 1 max: 1 } virtual_stages { min: 1 max: 1 }
      encoder_data_parallel { min: 1 max: 1 }
      recompute: RECOMPUTE_POLICY_FULL stage_layers: [24, 10, 11, 11]
      schedule: PIPELINE_SCHEDULE_GPIPE memory_confidence_ratio: 0.9
    }
    objective { kind: OBJECTIVE_KIND_GPU_DAYS }
  }
  max_violations: 50
  label: "nightly"
  max_alternatives: 5)";
}

planner::Job JobOf(const v1::PlanJobRequest& request) {
  planner::Job job;
  for (const Violation& violation : JobFromProto(request, &job)) {
    ADD_FAILURE() << violation.field << ": " << violation.description;
  }
  return job;
}

planner::Job JobOf(const std::string& text) { return JobOf(Parse(text)); }

}  // namespace evenkeel::server
