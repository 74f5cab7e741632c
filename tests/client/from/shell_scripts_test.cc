// Tests scripts in scripts, defaults of variables, and settings that a script leaves open.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/cli/base/command_error.h"
#include "client/cli/from/run/run_of.h"
#include "client/cli/from/shell/shell.h"
#include "tests/client/trainer_folder.h"

namespace evenkeel::cli {
namespace {

constexpr char kPretrain[] =
    "pretrain_gpt.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 128 "
    "--vocab-size 1000 --micro-batch-size 1 --global-batch-size 64 --bf16";

// The words of all commands, joined.
std::vector<std::string> Commands(const std::string& text) {
  std::vector<std::string> commands;
  for (const std::vector<ShellWord>& words : ReadShell(text, "run.sh").commands) {
    commands.emplace_back();
    for (const ShellWord& word : words)
      commands.back() += (commands.back().empty() ? "" : " ") + word.text;
  }
  return commands;
}

// Returns the tensor-parallel degree of a script on 64 GPUs.
int32_t TensorOf(const std::string& script) {
  JobFlags flags;
  flags.gpu = "h100-sxm-80gb";
  flags.gpus = {64};
  return RunOf(TrainerFolder().Script(script), flags).degrees.tensor();
}

// As of Qwen's finetune_ds.sh: the loop over arguments does not run without them.
TEST(ShellScriptsTest, ArgumentsThatNobodyGivesReplaceNothing) {
  const std::string loop =
      "TP=2\nwhile [[ \"$1\" != \"\" ]]; do\n  case $1 in\n    --tp )\n      shift\n      TP=$1\n"
      "      ;;\n  esac\n  shift\ndone\ntorchrun " +
      std::string(kPretrain) + " --tensor-model-parallel-size $TP\n";
  EXPECT_EQ(TensorOf(loop), 2);
}

TEST(ShellScriptsTest, ScriptsInArgumentsAreRead) {
  const std::string train = std::string(kPretrain) + " --tensor-model-parallel-size ";
  const std::string scripts[] = {
      "srun -l --container-image x sh -c \"torchrun " + train + "2\"\n",
      "RUN=\"torchrun " + train + "2\"\nsrun bash -c \"${RUN}\"\n",
      "RUN=\"torchrun " + train + "2\"\ndocker exec box bash -x -lc \"cd /w && $RUN\"\n",
      "TP=2\nbash -c 'torchrun " + train + "$TP'\n",
      "CMD=\"torchrun " + train + "2\"\neval \"$CMD\"\n",
      "CMD=\"torchrun " + train + "2\"\neval $CMD\n",
      "A=(--nproc_per_node 8)\nT=(" + train + "2)\nCMD=\"torchrun ${A[@]} ${T[@]}\"\neval $CMD\n",
      "A=(--nproc_per_node 8)\nCMD=\"torchrun ${A[*]} " + train + "2\"\nsrun bash -c \"$CMD\"\n",
      "sbatch <<EOF\n#!/bin/bash\nTP=2\ntorchrun " + train + "\\$TP\nEOF\n",
      "sbatch --nodes 8 <<'EOF'\nTP=2\nsrun bash -c \"torchrun " + train + "${TP}\"\nEOF\n"};
  for (const std::string& script : scripts) EXPECT_EQ(TensorOf(script), 2) << script;
  const ShellScript lines = ReadShell("true\nbash -c 'one\ntwo'\nX='a\nb'\nbash -c \"$X\"\n", "s");
  EXPECT_EQ(lines.commands[1][0].line, 2);
  EXPECT_EQ(lines.commands[2][0].line, 3);
  EXPECT_EQ(lines.commands[5][0].line, 6) << "b stands elsewhere";
  // Other programs have -c, too.
  EXPECT_EQ(Commands("gcc -c 'a b'\n"), (std::vector<std::string>{"gcc -c a b"}));
  EXPECT_EQ(Commands("cat <<EOF\nhello\nEOF\n"), (std::vector<std::string>{"cat"}));
}

// Returns the nodes and the GPUs of each that a script is for, or the reason of its refusal.
std::string GpusOf(const std::string& script) {
  JobFlags flags;
  flags.gpu = "h100-sxm-80gb";
  try {
    const v1::GpuPool pool = RunOf(TrainerFolder().Script(script), flags).job.cluster().pools(0);
    const int32_t per_node = pool.gpus_per_node() > 0 ? pool.gpus_per_node() : pool.gpu_count();
    return std::to_string(pool.gpu_count() / per_node) + "x" + std::to_string(per_node);
  } catch (const CommandError& error) {
    return error.what();
  }
}

TEST(ShellScriptsTest, SlurmsRequestCountsWhereNoLauncherDoes) {
  const std::string python = std::string("srun python ") + kPretrain + "\n";
  const std::string torchrun =
      std::string("srun torchrun --nnodes $SLURM_NNODES --nproc-per-node ");
  const std::pair<std::string, std::string> scripts[] = {
      {"#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\n" + python, "4x8"},
      {"#SBATCH -N 4\n#SBATCH --gres=gpu:h100:4,license:2(S:0)\n" + python, "4x4"},
      {"#SBATCH -N2 --ntasks-per-node=8 --exclusive # all of it\n" + python, "2x8"},
      {"#SBATCH --nodes 2\n#SBATCH -G 16\n" + python, "2x8"},
      {"#SBATCH --ntasks 4\n" + python, "1x4"},
      {"sbatch <<EOF\n#!/bin/bash\n#SBATCH -N 2\n#SBATCH --gres=gpu:8\n" + python + "EOF\n", "2x8"},
      {"#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=1\n" + torchrun + "8 " + kPretrain + "\n",
       "4x8"},
      {"#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\n" + torchrun + "$SLURM_GPUS_ON_NODE " +
           kPretrain + "\n",
       "4x8"},
      // The launcher counts more than the request.
      {"#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\ntorchrun --nnodes 1 --nproc-per-node 2 " +
           std::string(kPretrain) + "\n",
       "1x2"},
      // Options of srun itself come before those of the script, and end at the program.
      {"srun -l --nodes=2 --ntasks-per-node 8 numactl -N 1 python " + std::string(kPretrain) + "\n",
       "2x8"},
      {"#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\n/usr/bin/srun -N2 " +
           python.substr(std::string("srun ").size()),
       "2x8"},
      // Other commands of srun do not count.
      {"#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\nsrun -N 1 -n 1 hostname\n" + python, "4x8"}};
  for (const auto& [script, gpus] : scripts) EXPECT_EQ(GpusOf(script), gpus) << script;
  // Nothing is guessed from a range, or from a line that is commented out.
  for (const char* lines :
       {"#SBATCH --nodes=2-4 --gpus-per-node=8\n", "##SBATCH --ntasks=4\n", "#SBATCH\n"})
    EXPECT_THAT(GpusOf(lines + python), testing::HasSubstr("--gpus N")) << lines;
}

TEST(ShellScriptsTest, BranchesThatTheScriptDecidesAreFollowed) {
  const std::pair<std::string, std::string> scripts[] = {
      {"TP=${TP:-8}\nif [ \"$TP\" -gt 4 ]; then A=big; else A=small; fi\nrun $A\n", "run big"},
      {"X=b\nif [[ $X == a ]]; then\n A=1\nelif [ $X = b ]\nthen\n A=2\nelse\n A=3\nfi\nrun $A\n",
       "run 2"},
      {"X=0\nif [ $X -eq 1 ]; then if true; then A=1; else A=2; fi; A=3; fi\nA=${A:-4}\nrun $A\n",
       "run 4"},
      {"X=0\nA=1\n[ $X -eq 1 ] && A=2\nrun $A\n", "run 1"},
      {"X=0\nA=1\n[ $X -eq 1 ] && A=2 || A=3\nrun $A\n", "run 3"},
      {"X=1\nA=1\n[ $X -eq 1 ] && A=2 || A=3\nrun $A\n", "run 2"},
      {"X=1\nif ! [ $X -ne 1 ]; then A=1; fi\nrun $A\n", "run 1"},
      {"X=''\nif test -z \"$X\"; then A=1; else A=2; fi\nrun $A\n", "run 1"},
      {"X=1\nif [ $X -eq 2 ]; then eval 'A=2'; bash -c 'A=3'; fi\nrun ${A:-1}\n", "run 1"},
      // Conditions of several parts.
      {"X=true\nN=4\nif [ $X = true ] && [ $N -gt 1 ]; then A=1; else A=2; fi\nrun $A\n", "run 1"},
      {"N=1\nif [ $N = 2 ] ||\n   [ $N = 1 ]\nthen A=1; else A=2; fi\nrun $A\n", "run 1"},
      {"N=1\nif [ $N -gt 1 -a -f x ]; then A=1; else A=2; fi\nrun $A\n", "run 2"},
      {"X=bf16\nif [[ $X == fp8 || ( $X == bf* && -n $X ) ]]; then A=1; else A=2; fi\nrun $A\n",
       "run 1"},
      {"X=\nif [[ $X == fp8* ]]; then A=1; else A=2; fi\nrun $A\n", "run 2"},
      {"X=mxfp8\nif [[ $X =~ ^(mx|nv)fp[48]$ ]]; then A=1; else A=2; fi\nrun $A\n", "run 1"},
      {"PP=2\nif (( PP > 1 && PP < 4 )); then A=1; else A=2; fi\nrun $A\n", "run 1"},
      {"X=false\nif $X; then A=1; else A=2; fi\nrun $A\n", "run 2"},
      {"X=false\nif ! $X || grep x y; then A=1; else A=2; fi\nrun $A\n", "run 1"},
      // Branches of "case", and loops that do not begin.
      {"X=8b\ncase $X in\n  7b|8b) A=8; B=1;; # ours\n  \"32b\") A=32 ;;\n  *) A=0;;\nesac\nrun $A "
       "$B\n",
       "run 8 1"},
      {"X=a; case \"$X\" in b*) A=1;; (*) case x in y) A=2;; esac; A=${A:-3}; esac\nrun $A\n",
       "run 3"},
      {"A=1\nwhile [[ $# -gt 0 ]]; do\n  case $1 in\n    --a) A=2; shift;;\n    *) A=3;;\n  "
       "esac\ndone\nrun $A\n",
       "run 1"},
      {"A=1\nuntil true; do A=2; done\nrun $A\n", "run 1"},
      {"set -- 4 b\nif [ $# -ge 2 ]; then A=$1; else A=8; fi\nrun $A ${2} \"$@\"\n", "run 4 b 4 b"},
      {"TP=1\nX=8b\nif [[ $X == 8b ]]\nthen\n A=2\nelse\n A=4\nfi\nrun $A\n", "run 2"},
      {"X=8b\n[[ $X == 8b ]]&&A=2\nrun $A\n", "run 2"},
      {"X=8b\n[[ $X == 8b ]]\nA=2\nrun $A\n", "run 2"},
      {"A=2\n[ 1 -eq 2 ] &&\n  A=4\nrun $A\n", "run 2"},
      {"A=2\n[ 1 -eq 2 ] && { echo hi; A=4; }\nrun $A\n", "run 2"},
      {"A=2\n[ 1 -eq 1 ] && { echo hi; A=4; }\nrun $A\n", "run 4"},
      {"X=\"llama 8b\"\ncase $X in\n \"llama 8b\") A=2;;\n *) A=4;;\nesac\nrun $A\n", "run 2"},
      {"X=8b\ncase $X\nin\n 7b) A=4;;\n 8b) A=2;;\n 9b) A=8;;\nesac\nrun $A\n", "run 2"},
      {"A=1\n((A=2))\nrun $A\n", "run 2"},
      // Edits of values.
      {"X=2-hf\nrun ${X%\"-hf\"}\n", "run 2"},
      {"X=FP8\nF=/a/b.c.sh\nrun ${X,,} ${F##*/} ${F%.*} ${F%%.*} ${X/P/Q}\n",
       "run fp8 b.c.sh /a/b.c /a/b FQ8"}};
  for (const auto& [script, last] : scripts) {
    const std::vector<std::string> commands = Commands(script);
    ASSERT_FALSE(commands.empty());
    EXPECT_EQ(commands.back(), last) << script;
  }
  for (const char* script :
       {"X=1\nif [ $X = 1 ]; then A=1; fi\n", "X=1\ncase $X in 1) A=1;; *) A=2;; esac\n",
        "while [ $# -gt 0 ]; do A=1; done\n"})
    EXPECT_FALSE(ReadShell(script, "s").branches) << script;
  for (const char* script : {"case $X in 1) A=1;; *) A=2;; esac\n", "for x in a b; do A=$x; done\n",
                             "while [ 1 = 1 ]; do A=1; done\n"})
    EXPECT_TRUE(ReadShell(script, "s").branches) << script;
  // If a condition is not known, all branches count as run, the last one last.
  for (const char* test : {"[ -f x ]", "[ \"$1\" = 1 ]", "[ 1 = 1 ] && grep x y", "[[ x =~ $Y ]]",
                           "[[ aaaa =~ (a+)+b ]]", "[[ aa == *a*a*a*a*b ]]", "grep x y"}) {
    const std::string script = std::string("if ") + test + "; then A=1; else A=2; fi\nrun $A\n";
    EXPECT_EQ(Commands(script).back(), "run 2") << test;
    EXPECT_TRUE(ReadShell(script, "s").branches) << test;
  }
}

TEST(ShellScriptsTest, AVariableThatNothingSetsIsEmptyInTests) {
  const std::string choice = "; then A=1; else A=2; fi\n";
  const auto branch = [&](const std::string& test, const std::string& before = "",
                          const std::string& after = "") {
    return Commands(before + "if " + test + choice + after + "run $A\n").back();
  };
  for (const char* const test :
       {"[ -z \"$X\" ]", "[ -z $X ]", "[[ -z $X ]]", "[ \"$X\" = \"\" ]", "[ \"${X}\" != full ]",
        "[[ $X != full ]]", "! [ \"$X\" ]", "test -z \"$X\"", "[ x\"$X\" == x ]",
        "[ 1 = 1 ] && [ -z \"$X\" ]"})
    EXPECT_EQ(branch(test), "run 1") << test;
  for (const char* const test : {"[ -n \"$X\" ]", "[ \"$X\" ]", "[[ $X == full ]]", "[[ -n $X ]]"})
    EXPECT_EQ(branch(test), "run 2") << test;
  EXPECT_EQ(branch("[ -z \"$X\" ]", "echo read $X\n", "X=3\n"), "run 1") << "set too late";
  EXPECT_EQ(branch("[ -z $X ]", "Y=a\n", "echo ${Y} \"$Y\"\n"), "run 1");
  EXPECT_EQ(branch("[ -z $X ]", "Y=X=3\neval \"$Y\"\n"), "run 2") << "both branches are read";
  EXPECT_EQ(branch("[ -z $X ]", "read -r \\\n  X Z\n"), "run 2");
  EXPECT_EQ(branch("[ -z $X ]", "Z=$((1)); ((X++))\n"), "run 2");
  EXPECT_EQ(branch("[ -z $PBS_NODEFILE ]"), "run 2") << "a launcher's";
  const ShellScript read = ReadShell("if [ -z \"$X\" ]; then run; fi\n", "s");
  EXPECT_FALSE(read.branches);
  EXPECT_EQ(read.empty_in_tests, std::set<std::string>{"X"});
  EXPECT_EQ(Commands("if [ -z \"$X\" ]; then X=5; else X=6; fi\nrun $X\n").back(), "run 5");
  EXPECT_EQ(ReadShell("if [ -z \"$X\" ]; then A=1; else A=2; fi\nrun $A\n", "s", {{"X", "a"}})
                .commands.back()
                .at(1)
                .text,
            "2");
}

// Both branches count, the last one last.
TEST(ShellScriptsTest, AVariableThatACommandMaySetStaysOpen) {
  const std::string choice = "if [ -n \"$X\" ]; then A=1; else A=2; fi\n";
  for (const char* const before :
       {"read -r X\n", "source env.sh\n", ". ./env.sh\n", "for X in a b; do run $X; done\n",
        "X=$(nproc)\n", "X=`nproc`\n", "X=$1\n", "eval \"$(tool)\"\n", "export $(cat .env)\n",
        "cat f | while read -r X; do run; done\n", "mapfile -t X < f\n", "printf -v X %s 1\n",
        "((X++))\n", "IFS=, read -ra X <<< a,b\n"})
    EXPECT_TRUE(ReadShell(before + choice + "run $A\n", "s").empty_in_tests.empty()) << before;
  for (const std::string& script :
       {"f() {\n" + choice + "}\nX=1\nf\n", "for i in 1 2; do\n" + choice + "X=1\ndone\n"}) {
    const ShellScript read = ReadShell(script, "s");
    EXPECT_TRUE(read.empty_in_tests.empty()) << script;
    EXPECT_TRUE(read.branches) << script;
  }
  for (const char* const name : {"1", "HOME", "SLURM_PROCID"})
    EXPECT_TRUE(ReadShell(std::string("if [ -z \"$") + name + "\" ]; then A=1; fi\n", "s").branches)
        << name;
  EXPECT_EQ(Commands("source venv/bin/activate\n" + choice + "run $A\n").back(), "run 2");
}

TEST(ShellScriptsTest, VariablesOfTheEnvironmentAreSetFirst) {
  const auto last = [](const std::string& script) {
    const ShellScript read = ReadShell(script, "s", {{"TP", "8"}, {"SLURM_NNODES", "4"}});
    std::string text;
    for (const ShellWord& word : read.commands.back())
      text += (text.empty() ? "" : " ") + word.text;
    return text;
  };
  EXPECT_EQ(last("N=${SLURM_NNODES}\nrun ${TP:-1} $((TP * 2)) $N\n"), "run 8 16 4");
  EXPECT_EQ(last("#SBATCH --nodes=2\nTP=2\nrun $TP $SLURM_NNODES\n"), "run 2 4");
  EXPECT_THROW(ReadShell("run $PP\n", "s", {{"TP", "8"}}), CommandError);
  // Numbers are arguments.
  const ShellScript read = ReadShell("run $1 ${2:-x} $#\n", "s", {{"1", "dsw"}, {"2", "8B"}});
  EXPECT_EQ(read.commands.back().at(1).text, "dsw");
  EXPECT_EQ(read.commands.back().at(2).text, "8B");
  EXPECT_EQ(read.commands.back().at(3).text, "2");
  EXPECT_THROW(ReadShell("run $2\n", "s", {{"2", "8"}}), CommandError);
}

TEST(ShellScriptsTest, ScriptsInArgumentsAreBounded) {
  std::string deep = "true";
  for (int i = 0; i < 12; ++i) deep = "eval eval " + deep;
  EXPECT_THROW(ReadShell(deep, "s"), CommandError);
  EXPECT_THROW(ReadShell("X='eval \"$X\"'\neval \"$X\"\n", "s"), CommandError);
  EXPECT_THROW(ReadShell("bash -c \"echo 'a\"\n", "s"), CommandError);
}

TEST(ShellScriptsTest, AnAssignmentKeepsItsWords) {
  EXPECT_EQ(Commands("A='--x 1'\nB=$A\nB=${B}\" --y\"\nexport C=${B:-none}\nrun $B $C\n"),
            (std::vector<std::string>{"run --x 1 --y --x 1 --y"}));
  EXPECT_EQ(ReadShell("A='--x 1'\nARGS=($A)\nrun ${ARGS[@]}\n", "s").commands[0].size(), 3u);
  // An array keeps its words, too.
  for (const char* const array : {"${A[@]}", "${A[*]}"})
    for (const std::string quote : {"\"", ""}) {
      const std::string set = "A=(--x 1)\nB=" + quote + array + quote + "\n";
      EXPECT_EQ(Commands(set + "run $B\n"), (std::vector<std::string>{"run --x 1"})) << set;
    }
  EXPECT_EQ(Commands("A=(--x 1)\nB=\"run --y ${A[@]} --z\"\neval $B\n"),
            (std::vector<std::string>{"run --y --x 1 --z"}));
  const auto words = [](const std::string& text) {
    return ReadShell(text, "s").commands[0].size();
  };
  EXPECT_EQ(words("A=(--x 1)\nrun \"${A[*]}\"\n"), 2u);
  EXPECT_EQ(words("A=(--x 1)\nrun \"${A[@]}\"\n"), 3u);
}

TEST(ShellScriptsTest, DefaultsOfVariables) {
  const auto line = [](const std::string& text) { return Commands(text).back(); };
  EXPECT_EQ(line(": \"${TP:=2}\"\nrun $TP"), "run 2");
  EXPECT_EQ(line(": ${ARGS:=--a 1}\nrun $ARGS \"$ARGS\""), "run --a 1 --a 1");
  EXPECT_EQ(line("X=\nrun ${X:-d} [${X-d}]"), "run d []");
  EXPECT_EQ(line("X=1\nrun ${X:+--x $X} ${Y:+--y} end"), "run --x 1 end");
  EXPECT_EQ(line("X=1\nrun ${X:?must be set}"), "run 1");
  const auto words = [](const std::string& text) { return ReadShell(text, "s").commands.back(); };
  ASSERT_EQ(words("X=1\nrun ${X:+--x $X}").size(), 3u);
  EXPECT_EQ(words("X=1\nrun ${X:+--x $X}")[2].text, "1");
  EXPECT_EQ(words("run ${X:---a b}").size(), 3u);
  EXPECT_EQ(words("run ${X:-\"a b\" c}")[1].text, "a b");
  EXPECT_EQ(words("run \"${X:-a b}\"")[1].text, "a b");
  EXPECT_EQ(words("ARGS=(${X:-a b})\nrun ${#} \"${ARGS[@]}\"").size(), 4u);
  EXPECT_EQ(words("A=${X:-a b}\nrun \"$A\"")[1].text, "a b");
  EXPECT_EQ(words("run ${X:-}").size(), 1u) << "no word";
  EXPECT_EQ(line("X=12\nrun ${X:1:1}"), "run ${X:1:1}") << "not read";
  EXPECT_TRUE(ReadShell("X=12\nrun ${X:1:1}", "s").unset.empty());
}

TEST(ShellScriptsTest, BranchesAreNoted) {
  const auto branches = [](const std::string& text) { return ReadShell(text, "s").branches; };
  EXPECT_TRUE(branches("[ $B = 1 ] && TP=2\n"));
  EXPECT_TRUE(branches("[ $B = 1 ] || TP=2\n"));
  EXPECT_TRUE(branches("for tp in 1 2; do TP=$tp; done\n"));
  EXPECT_TRUE(branches("while true; do TP=2; done\n"));
  EXPECT_TRUE(branches("if ready; then TP=2; fi\n"));
  EXPECT_FALSE(branches("cd x && run\nTP=2\n"));
  EXPECT_FALSE(branches("run | tee log; TP=2\n"));
}

TEST(ShellScriptsTest, WhatTheScriptLeavesOpenIsNamed) {
  const TrainerFolder folder;
  const std::string train = std::string(" ") + kPretrain + "\n";
  const auto launched = [&](const std::string& nodes, const std::vector<int32_t>& gpus) {
    JobFlags flags;
    flags.gpu = "h100-sxm-80gb";
    flags.gpus = gpus;
    return RunOf(folder.Script("torchrun --nnodes " + nodes + " --nproc_per_node 4" + train), flags)
        .job.cluster()
        .pools(0);
  };
  for (const char* const nodes : {"$SLURM_NNODES", "1:4", "$(wc -l < hosts)"}) {
    EXPECT_EQ(launched(nodes, {64}).gpu_count(), 64) << nodes;
    EXPECT_EQ(launched(nodes, {64}).gpus_per_node(), 4) << nodes;
    EXPECT_NE(folder.Refusal("torchrun --nnodes " + std::string(nodes) + train).find("by --gpus N"),
              std::string::npos)
        << nodes;
  }
  EXPECT_EQ(launched("16", {64}).gpus_per_node(), 4);
  EXPECT_NE(folder
                .Refusal("accelerate launch --num_processes $((8 * N)) train.py --bf16 "
                         "--per_device_train_batch_size 2 --model_max_length 512\n")
                .find("this is no number of processes: give it by --gpus N"),
            std::string::npos);
  EXPECT_NE(folder
                .Refusal("torchrun --nproc_per_node 8" + std::string(train, 0, train.size() - 1) +
                         " --tensor-model-parallel-size $TP_SIZE\n")
                .find("the script does not say what ${TP_SIZE} is: write the number, or give the "
                      "variable or argument by --env NAME=VALUE; --env TP_SIZE= says that it is "
                      "empty"),
            std::string::npos);
}

TEST(ShellScriptsTest, ALayoutGivesEachChunkALayer) {
  JobFlags flags;
  flags.gpu = "h100-sxm-80gb";
  flags.gpus = {8};
  const auto refusal = [&](const std::string& layout, v1::LayerKind kind) {
    UserRun run = RunOf(TrainerFolder().Script("torchrun " + std::string(kPretrain) +
                                               " --pipeline-model-parallel-size 2 "
                                               "--pipeline-model-parallel-layout '" +
                                               layout + "'\n"),
                        flags);
    try {
      AdaptToLayers({kind, v1::LAYER_KIND_DENSE}, &run);
    } catch (const CommandError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal("Ett|ttL", v1::LAYER_KIND_DENSE), "");
  EXPECT_NE(refusal("Etttt|L", v1::LAYER_KIND_DENSE).find("entry 2 of the layout"),
            std::string::npos);
  EXPECT_EQ(refusal("E|ttttL", v1::LAYER_KIND_ENCODER), "") << "its encoder is there";
}

// Programs of Megatron-LM for models that are no decoder of text.
TEST(ShellScriptsTest, OtherModelsOfMegatronAreNotTakenForGpt) {
  const std::string shape = std::string(kPretrain).substr(std::string("pretrain_gpt.py").size());
  const auto refusal = [&](const std::string& command, const std::string& model) {
    try {
      JobFlags flags;
      flags.gpu = "h100-sxm-80gb";
      flags.gpus = {8};
      flags.model = model;
      RunOf(TrainerFolder().Script("torchrun " + command + "\n"), flags);
    } catch (const CommandError& error) {
      EXPECT_EQ(error.code(), ExitCode::kBadInput);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal("pretrain_gpt.py" + shape, ""), "");
  EXPECT_NE(refusal("pretrain_t5.py" + shape, "").find("run.sh:1: pretrain_t5.py: not yet"),
            std::string::npos);
  EXPECT_NE(refusal("megatron/pretrain_bert.py" + shape, "").find("trains BERT"),
            std::string::npos);
  const std::string mamba = "pretrain_mamba.py" + shape + " --hybrid-override-pattern M-M*";
  EXPECT_NE(refusal(mamba, "").find("--model config.json"), std::string::npos);
  EXPECT_EQ(refusal(mamba, "nemotron-h-56b"), "");
}

}  // namespace
}  // namespace evenkeel::cli
