-- Slurm's cli_filter/lua: sbatch, srun and salloc ask Evenkeel for the plan of a job that describes itself. Install it
-- next to slurm.conf with evenkeel.lua and evenkeel.conf (docs/SLURM.md). A site with a filter of its own adds these
-- two lines to it.
local evenkeel = dofile((debug.getinfo(1, "S").source:match("^@(.*)/") or "/etc/slurm") .. "/evenkeel.lua")

function slurm_cli_setup_defaults(options, early)
  return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, offset)
  return evenkeel.pre_submit(options, offset)
end

function slurm_cli_post_submit(offset, job_id, step_id)
  return slurm.SUCCESS
end
