// What a script asks of Slurm, in the "#SBATCH" lines at its top and in options of srun.
#ifndef EVENKEEL_CLIENT_CLI_FROM_SHELL_SLURM_H_
#define EVENKEEL_CLIENT_CLI_FROM_SHELL_SLURM_H_

#include <map>
#include <string>
#include <vector>

#include "client/cli/from/settings/setting.h"

namespace evenkeel::cli {

// A value is 0 if the script does not ask for it, or not as one number ("--nodes=2-4").
struct SlurmRequest {
  int64_t nodes = 0, gpus_per_node = 0, tasks_per_node = 0, gpus = 0, tasks = 0;
  std::string nodes_where, gpus_where;  // "run.sh:3", of the lines that say so

  // Returns the GPUs of a node, or the tasks where no GPU is named: one process drives each GPU.
  int64_t ProcessesPerNode() const;

  // Returns the variables that Slurm sets for the script, such as SLURM_NNODES.
  std::map<std::string, std::string> Variables() const;
};

// Reads the "#SBATCH" lines of `text`. `name` is the name of the script, for messages.
SlurmRequest ReadSlurmRequest(const std::string& text, const std::string& name);

// If srun starts the command of these words, replaces the values of *request that srun's options
// give. `where` is the place of the command.
void TakeSrunOptions(const std::vector<std::string>& words, const std::string& where,
                     SlurmRequest* request);

// Takes nodes and GPUs from the request if no launcher gives any.
void AddSlurmCounts(const SlurmRequest& request, UserConfig* config);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_SHELL_SLURM_H_
