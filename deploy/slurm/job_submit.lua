-- Slurm's job_submit/lua, in slurmctld: checks that a job which asked for a plan carries one, without asking anybody.
-- Install it next to slurm.conf with evenkeel.lua and evenkeel.conf (docs/SLURM.md).
local evenkeel = dofile((debug.getinfo(1, "S").source:match("^@(.*)/") or "/etc/slurm") .. "/evenkeel.lua")

function slurm_job_submit(job, partitions, user)
  return evenkeel.job_submit(job)
end

function slurm_job_modify(job, record, partitions, user)
  return slurm.SUCCESS
end

return slurm.SUCCESS
