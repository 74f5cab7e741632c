// Tests scripts as trainers publish them, shortened by paths and learning rates: what each is read
// as, or why it is refused.
#include <gtest/gtest.h>

#include <string>

#include "client/cli/base/command_error.h"
#include "client/cli/from/run/run_of.h"
#include "tests/client/trainer_folder.h"

namespace evenkeel::cli {
namespace {

struct Recipe {
  const char *source, *script;
  std::string refusal;  // a part of it; empty if the script is read
  std::string trainer = "huggingface-trainer";
  int64_t micro_batch = 0, seq_length = 0, sequences = 0;
  Recompute::Kind recompute = Recompute::Kind::kNone;
  bool adapters = false;
  size_t unknown = 0;
};

const Recipe kRecipes[] = {
    {.source = "trl/scripts/sft.py, full training",
     .script = "python trl/scripts/sft.py --model_name_or_path Qwen/Qwen2-0.5B --dataset_name "
               "trl-lib/Capybara --learning_rate 2.0e-5 --num_train_epochs 1 --packing "
               "--per_device_train_batch_size 2 --gradient_accumulation_steps 8 --eos_token "
               "'<|im_end|>' --eval_strategy steps --eval_steps 100 --output_dir Qwen2-0.5B-SFT "
               "--push_to_hub\n",
     .refusal = "",
     .micro_batch = 2,
     .seq_length = 1024,
     .sequences = 128,
     .recompute = Recompute::Kind::kEvery},
    {.source = "trl/scripts/sft.py, LoRA",
     .script = "python trl/scripts/sft.py --model_name_or_path Qwen/Qwen2-0.5B --dataset_name "
               "trl-lib/Capybara --num_train_epochs 1 --packing --per_device_train_batch_size 2 "
               "--gradient_accumulation_steps 8 --eval_strategy steps --use_peft --lora_r 32 "
               "--lora_alpha 16 --output_dir Qwen2-0.5B-SFT --push_to_hub\n",
     .refusal = "",
     .micro_batch = 2,
     .seq_length = 1024,
     .sequences = 128,
     .recompute = Recompute::Kind::kEvery,
     .adapters = true},
    {.source = "trl/examples/scripts/dpo_vlm.py",
     .script = "accelerate launch examples/scripts/dpo_vlm.py --dataset_name a/b "
               "--model_name_or_path Qwen/Qwen2.5-VL-3B-Instruct --per_device_train_batch_size 2 "
               "--gradient_accumulation_steps 32 --dataset_num_proc 32 --bf16 --torch_dtype "
               "bfloat16 --gradient_checkpointing --use_peft --lora_target_modules=all-linear\n",
     .refusal = "run.sh:1: examples/scripts/dpo_vlm.py: not yet: a loss with a reference"},
    {.source = "LLaVA, scripts/v1_5/pretrain.sh",
     .script = "deepspeed llava/train/train_mem.py --deepspeed ./zero.json --model_name_or_path "
               "llama3-8b --version plain --vision_tower openai/clip-vit-large-patch14-336 "
               "--mm_projector_type mlp2x_gelu --tune_mm_mlp_adapter True --mm_vision_select_layer "
               "-2 --mm_use_im_start_end False --bf16 True --per_device_train_batch_size 32 "
               "--model_max_length 2048 --gradient_checkpointing True\n",
     .refusal = "vision_tower openai/clip-vit-large-patch14-336: the model has an encoder"},
    {.source = "LLaVA, scripts/v1_5/finetune_lora.sh",
     .script =
         "deepspeed llava/train/train_mem.py --lora_enable True --lora_r 128 --lora_alpha 256 "
         "--mm_projector_lr 2e-5 --deepspeed ./zero.json --model_name_or_path llama3-8b "
         "--vision_tower openai/clip-vit-large-patch14-336 --bf16 True "
         "--per_device_train_batch_size 16 --model_max_length 2048\n",
     .refusal =
         "lora_enable True: adapters that the program adds: give PEFT's adapter_config.json"},
    {.source = "FastChat, fastchat/train/train_lora.py",
     .script = "deepspeed fastchat/train/train_lora.py --model_name_or_path lmsys/vicuna-7b-v1.5 "
               "--lora_r 8 --lora_alpha 16 --lora_dropout 0.05 --bf16 True --output_dir o "
               "--per_device_train_batch_size 1 --model_max_length 2048 --q_lora True\n",
     .refusal = "q_lora True: adapters that the program adds: give PEFT's adapter_config.json"},
    {.source = "FastChat, fastchat/train/train_mem.py",
     .script = "torchrun --nproc_per_node=8 fastchat/train/train_mem.py --model_name_or_path "
               "llama3-8b --data_path d.json --bf16 True --output_dir o --num_train_epochs 3 "
               "--per_device_train_batch_size 2 --gradient_accumulation_steps 16 --fsdp "
               "\"full_shard auto_wrap\" --fsdp_transformer_layer_cls_to_wrap LlamaDecoderLayer "
               "--tf32 True --model_max_length 2048 --gradient_checkpointing True "
               "--lazy_preprocess True\n",
     .refusal = "",
     .trainer = "pytorch-fsdp",
     .micro_batch = 2,
     .seq_length = 2048,
     .sequences = 256,
     .recompute = Recompute::Kind::kEvery},
    {.source = "alignment-handbook, recipes/zephyr-7b-beta",
     .script =
         "ACCELERATE_LOG_LEVEL=info accelerate launch --config_file launch.yaml "
         "--num_processes=8 scripts/run_sft.py recipes/config_full.yaml --load_in_4bit=true\n",
     .refusal = "config recipes/config_full.yaml: there is no file recipes/config_full.yaml"},
    {.source = "Megatron-LM, a Slurm script with sh -c",
     .script = "ARGS=\"--num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 128 "
               "--micro-batch-size 2 --global-batch-size 64 --bf16 --vocab-size 1000\"\n"
               "run_cmd=\"python -u pretrain_gpt.py ${ARGS}\"\n"
               "srun -l --container-image x sh -c \"${run_cmd}\"\n",
     .refusal = "",
     .trainer = "megatron-core",
     .micro_batch = 2,
     .seq_length = 128,
     .sequences = 64},
    {.source = "Megatron-LM, torchrun under Slurm",
     .script = "torchrun --nnodes $SLURM_NNODES --nproc_per_node 8 pretrain_gpt.py --num-layers 4 "
               "--hidden-size 512 --num-attention-heads 8 --seq-length 128 --micro-batch-size 1 "
               "--global-batch-size 64 --bf16 --vocab-size 1000 --recompute-activations\n",
     .refusal = "",
     .trainer = "megatron-core",
     .micro_batch = 1,
     .seq_length = 128,
     .sequences = 64,
     .recompute = Recompute::Kind::kModules},
    {.source = "Megatron-DeepSpeed, examples_deepspeed",
     .script = "deepspeed pretrain_gpt.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 "
               "--seq-length 128 --micro-batch-size 1 --global-batch-size 64 --bf16 --vocab-size "
               "1000 --deepspeed --deepspeed_config ds.json --zero-stage 3 "
               "--deepspeed-activation-checkpointing\n",
     .refusal = "run.sh:1: --deepspeed: not yet: Megatron-DeepSpeed's arguments"}};

TEST(RecipesTest, ScriptsAsTheyArePublished) {
  const TrainerFolder folder;
  folder.Write("zero.json", "{\"zero_optimization\": {\"stage\": 3}}");
  folder.Write("launch.yaml",
               "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\n"
               "num_processes: 8\nmixed_precision: bf16\n");
  JobFlags flags;
  flags.gpu = "h100-sxm-80gb";
  flags.gpus = {8};
  for (const Recipe& recipe : kRecipes) {
    std::string refusal;
    try {
      const UserConfig config = folder.Script(recipe.script);
      UserRun run = RunOf(config, flags);
      AdaptToLayers(ModelLayers(32, v1::LAYER_KIND_DENSE), &run);
      EXPECT_EQ(run.job.training().trainer().name(), recipe.trainer) << recipe.source;
      EXPECT_EQ(run.micro_batch, recipe.micro_batch) << recipe.source;
      EXPECT_EQ(run.seq_length, recipe.seq_length) << recipe.source;
      EXPECT_EQ(run.sequences, recipe.sequences) << recipe.source;
      EXPECT_EQ(run.recompute.kind, recipe.recompute) << recipe.source;
      EXPECT_EQ(run.adapters, recipe.adapters) << recipe.source;
      EXPECT_EQ(config.unknown.size(), recipe.unknown) << recipe.source;
    } catch (const CommandError& error) {
      refusal = error.what();
    }
    if (recipe.refusal.empty()) {
      EXPECT_EQ(refusal, "") << recipe.source;
    } else {
      EXPECT_NE(refusal.find(recipe.refusal), std::string::npos)
          << recipe.source << ": " << refusal;
    }
  }
}

}  // namespace
}  // namespace evenkeel::cli
