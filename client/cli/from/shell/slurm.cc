#include "client/cli/from/shell/slurm.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <algorithm>
#include <vector>

#include "client/cli/from/settings/keys.h"

namespace evenkeel::cli {
namespace {

constexpr char kMark[] = "#SBATCH";
constexpr int64_t kMaxCount = 65536;

// Options of sbatch(1) and srun(1) that count something, and their short forms.
struct CountOption {
  const char* name;
  char letter;  // 0 if there is none
  int64_t SlurmRequest::*count;
};
constexpr CountOption kCountOptions[] = {
    {"nodes", 'N', &SlurmRequest::nodes},
    {"ntasks", 'n', &SlurmRequest::tasks},
    {"ntasks-per-node", 0, &SlurmRequest::tasks_per_node},
    {"gpus", 'G', &SlurmRequest::gpus},
    {"gpus-per-node", 0, &SlurmRequest::gpus_per_node},
    {"gres", 0, &SlurmRequest::gpus_per_node},
};

// Returns the count of "8", "h100:8" or "gpu:h100:8(S:0-1)", or 0 if there is none. A list of gres
// may name other things than GPUs.
int64_t CountOf(const std::string& text, bool gres) {
  for (const std::string& item : std::vector<std::string>(absl::StrSplit(text, ','))) {
    if (gres && !absl::StartsWith(item, "gpu")) continue;
    const std::string counted = item.substr(0, item.find('('));
    if (gres && counted == "gpu") return 1;
    int64_t count = 0;
    if (absl::SimpleAtoi(counted.substr(counted.find_last_of(':') + 1), &count) && count > 0 &&
        count <= kMaxCount)
      return count;
    return 0;
  }
  return 0;
}

void Take(const CountOption& option, const std::string& value, const std::string& where,
          SlurmRequest* request) {
  request->*option.count = CountOf(value, std::string_view(option.name) == "gres");
  (option.count == &SlurmRequest::nodes ? request->nodes_where : request->gpus_where) = where;
}

// Takes the options of one line: "--nodes=4", "--nodes 4", "-N 4" or "-N4".
void TakeLine(const std::vector<std::string>& words, const std::string& where,
              SlurmRequest* request) {
  for (size_t i = 0; i < words.size() && words[i][0] != '#'; ++i) {
    for (const CountOption& option : kCountOptions) {
      const std::string name = absl::StrCat("--", option.name);
      const bool short_form =
          option.letter != 0 && absl::StartsWith(words[i], std::string{'-', option.letter});
      std::string value;
      if (absl::StartsWith(words[i], name + "=")) {
        value = words[i].substr(name.size() + 1);
      } else if (short_form && words[i].size() > 2) {
        value = words[i].substr(2);
      } else if ((short_form || words[i] == name) && i + 1 < words.size()) {
        value = words[i + 1];
      } else {
        continue;
      }
      Take(option, value, where, request);
    }
  }
}

}  // namespace

int64_t SlurmRequest::ProcessesPerNode() const {
  if (gpus_per_node > 0) return gpus_per_node;
  const int64_t over = std::max<int64_t>(1, nodes);
  if (gpus > 0) return gpus % over == 0 ? gpus / over : 0;
  if (tasks_per_node > 0) return tasks_per_node;
  return tasks % over == 0 ? tasks / over : 0;
}

std::map<std::string, std::string> SlurmRequest::Variables() const {
  std::map<std::string, std::string> variables;
  const auto set = [&](const char* name, int64_t count) {
    if (count > 0) variables[name] = std::to_string(count);
  };
  set("SLURM_NNODES", nodes);
  set("SLURM_JOB_NUM_NODES", nodes);
  set("SLURM_GPUS_PER_NODE", gpus_per_node);
  set("SLURM_GPUS_ON_NODE", gpus_per_node);
  set("SLURM_GPUS", gpus);
  set("SLURM_NTASKS_PER_NODE", tasks_per_node);
  const int64_t all = tasks > 0 ? tasks : std::max<int64_t>(1, nodes) * tasks_per_node;
  set("SLURM_NTASKS", all);
  set("SLURM_NPROCS", all);
  return variables;
}

SlurmRequest ReadSlurmRequest(const std::string& text, const std::string& name) {
  SlurmRequest request;
  int line = 0;
  for (const absl::string_view row : absl::StrSplit(text, '\n')) {
    ++line;
    const absl::string_view bare = absl::StripLeadingAsciiWhitespace(row);
    if (!absl::StartsWith(bare, kMark)) continue;
    std::vector<std::string> words =
        absl::StrSplit(bare, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.front() != kMark) continue;
    words.erase(words.begin());
    TakeLine(words, absl::StrCat(name, ":", line), &request);
  }
  return request;
}

void TakeSrunOptions(const std::vector<std::string>& words, const std::string& where,
                     SlurmRequest* request) {
  const auto srun = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word == "srun" || absl::EndsWith(word, "/srun");
  });
  if (srun == words.end()) return;
  // They end at the program: the first word that neither is an option nor follows one.
  std::vector<std::string> options;
  bool takes_value = false;
  for (auto word = srun + 1; word != words.end(); ++word) {
    const bool option = absl::StartsWith(*word, "-");
    if (!option && !takes_value) break;
    takes_value = option && !absl::StrContains(*word, '=');
    options.push_back(*word);
  }
  TakeLine(options, where, request);
}

void AddSlurmCounts(const SlurmRequest& request, UserConfig* config) {
  for (const Field field : {Field::kNodes, Field::kGpusPerNode, Field::kProcesses})
    if (config->Has(field)) return;
  const int64_t per_node = request.ProcessesPerNode();
  const bool open = request.nodes == 0 && !request.nodes_where.empty();  // "--nodes=2-4"
  if (per_node == 0 || open) return;
  if (request.nodes > 0)
    Sort(MegatronKeys(), "nnodes",
         {"Slurm's --nodes", {std::to_string(request.nodes)}, request.nodes_where}, config);
  Sort(MegatronKeys(), "nproc-per-node",
       {"Slurm's processes per node", {std::to_string(per_node)}, request.gpus_where}, config);
}

}  // namespace evenkeel::cli
