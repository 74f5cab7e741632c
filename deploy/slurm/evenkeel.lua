-- What cli_filter.lua and job_submit.lua share. For Lua 5.1 to 5.4.
-- A job describes itself in its comment, or in EVENKEEL_REQUEST if the comment is needed for something else:
--
--   #SBATCH --comment=evenkeel:model=llama3-8b,global-batch=128
local M = {}

local FOLDER = debug.getinfo(1, "S").source:match("^@(.*)/") or "/etc/slurm"
local request = dofile(FOLDER .. "/evenkeel_request.lua")
local json = dofile(FOLDER .. "/evenkeel_json.lua")
local sizes = dofile(FOLDER .. "/evenkeel_sizes.lua")
local PLAN_ID = "^plan%-" .. string.rep("%x", 32) .. "$"

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- Returns the command line that asks for the plan, or for those of a range of nodes. What it says of faults is kept
-- apart from the plan: programs warn there, too.
local function command(job, settings, range)
  local words = {}
  if settings.environment_file then
    words[#words + 1] = "set -a; . " .. quoted(settings.environment_file) .. "; set +a;"
  end
  words[#words + 1] = "timeout -k 1 " .. math.ceil(settings.timeout_seconds + 1)
  words[#words + 1] = quoted(settings.command) .. (range and " curve --nodes " .. range.least .. ".." .. range.most
                                                   or " plan") .. " --output json --color never"
  words[#words + 1] = "--server " .. quoted(settings.server) .. " --timeout " .. settings.timeout_seconds
  local keys = {}
  for key in pairs(job) do keys[#keys + 1] = key end
  table.sort(keys)
  for _, key in ipairs(keys) do words[#words + 1] = "--" .. key .. "=" .. quoted(job[key]) end
  if job.save then words[#words + 1] = "--force" end -- a job that is submitted again has a new plan
  return "exec 3>&1; faults=$({ " .. table.concat(words, " ") .. "; } 2>&1 >&3); printf '\\036%d %s' $? \"$faults\""
end

-- Runs it and returns exit status, output, and what it said of faults. These stand behind a mark, because Lua 5.1 does
-- not tell the status.
local function run(line)
  local pipe = io.popen(line, "r")
  if not pipe then return 127, "", "no shell" end
  local output, status, faults = pipe:read("*a"):match("^(.*)\30(%d+) (.*)$")
  pipe:close()
  return tonumber(status) or 127, output or "", faults or "no shell"
end

local function say(kind, text)
  for line in (text .. "\n"):gmatch("(.-)\n") do
    if line ~= "" then slurm["log_" .. kind]("%s", "evenkeel: " .. line:gsub("^evenkeelctl: ", "")) end
  end
end

local function refuse(text)
  say("error", text)
  return slurm.ERROR
end

local VARIABLES = { tensor = "TENSOR_PARALLEL", pipeline = "PIPELINE_PARALLEL", data = "DATA_PARALLEL",
                    context = "CONTEXT_PARALLEL", expert = "EXPERT_PARALLEL", virtual_stages = "VIRTUAL_STAGES",
                    encoder_data = "ENCODER_DATA_PARALLEL" }

-- Adds `more` and the plan's settings to what the job gets in its environment. Without a plan they are there but empty:
-- the submitter may itself be a job, with a plan that is not this one's.
local function export(options, got, more)
  local found = { "EVENKEEL_PLAN_ID=" .. (got and got.plan_id or ""),
                  "EVENKEEL_GPUS=" .. (got and math.floor(got.subject.gpu_count) or "") }
  for key, name in pairs(VARIABLES) do
    found[#found + 1] = "EVENKEEL_" .. name .. "=" .. (got and math.floor(got.parallelism[key]) or "")
  end
  for name, value in pairs(more or {}) do found[#found + 1] = name .. "=" .. value end
  table.sort(found)
  local given = options["export"]
  if not given or given == "ALL" then
    table.insert(found, 1, "ALL")
  elseif given ~= "NONE" and given ~= "NIL" then
    table.insert(found, 1, given)
  end
  options["export"] = table.concat(found, ",")
end

-- Goes on without an answer as the configuration says.
local function without(options, settings, why)
  if settings.unavailable == "refuse" then return refuse("not submitted, because there is no plan: " .. why) end
  if options["type"] ~= "salloc" then export(options, nil) end
  say("info", "submitted without a plan: " .. why)
  return slurm.SUCCESS
end

-- Returns the plan in evenkeelctl's output; nil if there is none.
local function answer(output)
  local ok, found = pcall(json.decode, output)
  local got = ok and type(found) == "table" and found.plan
  return type(got) == "table" and type(got.plan_id) == "string" and got.plan_id:match(PLAN_ID) and got or nil
end

local FAILURES = { [124] = "no answer in time" }

-- Returns why there is no answer.
local function reason(settings, status, faults)
  local why = status == 127 and "no program " .. settings.command or FAILURES[status]
  return why or faults:gsub("^evenkeelctl: ", ""):match("[^\n]+") or "exit status " .. status
end

-- A job for a range of nodes: a plan for each number of them that Slurm may give it.
local function plan_sizes(options, job, settings, range)
  if job.save then return refuse("save= does not go with a range of nodes, which has a plan for each size") end
  local status, output, faults = run(command(job, settings, range))
  if status == 2 then return refuse(faults ~= "" and faults or "exit status 2") end
  local ok, found = pcall(json.decode, output)
  local points = (status == 0 or status == 1) and ok and sizes.points(found, PLAN_ID)
  if not points then
    local why = (status == 0 or status == 1) and "no plans in the answer" or reason(settings, status, faults)
    return without(options, settings, why)
  end
  local misfit = sizes.misfit(points, range)
  if misfit then return refuse(misfit) end
  say("info", sizes.text(points))
  if options["type"] ~= "salloc" then export(options, nil, sizes.variables(points)) end
  return slurm.SUCCESS
end

local function plan(options, job, settings)
  local least, most = (options["nodes"] or ""):match("^(%d+)%-?(%d*)$") -- "2", "1-2"; "1-0": not given
  if most == "" then most = least end
  local all, each, kind = request.resources(options["gpus"], options["gpus-per-node"], options["gres"], least, most,
                                            options["ntasks"])
  local range = not all and each and not job.gpus and not job.job and sizes.range(least, most)
  local fault = request.complete(job, settings, all, each, kind, range)
  if fault then return refuse(fault) end
  if range then return plan_sizes(options, job, settings, range) end
  local status, output, faults = run(command(job, settings))
  if status == 2 then return refuse(faults ~= "" and faults or "exit status 2") end
  local got = (status == 0 or status == 1) and answer(output)
  if status == 1 and got and got.misfit then return refuse("this job does not fit. " .. got.misfit.text) end
  if status ~= 0 or not got then
    return without(options, settings, status == 0 and "no plan in the answer" or reason(settings, status, faults))
  end
  if options["type"] == "salloc" then
    say("info", got.plan_id .. ": salloc passes on no variables; export EVENKEEL_PLAN_ID=" .. got.plan_id)
    return slurm.SUCCESS
  end
  export(options, got)
  say("info", got.plan_id)
  return slurm.SUCCESS
end

-- Serves cli_filter's slurm_cli_pre_submit. The first part (`offset` 0) of a heterogeneous job is planned, where the
-- script runs: the others inherit its comment, and the environment of their steps is the script's.
function M.pre_submit(options, offset)
  if (offset or 0) > 0 then return slurm.SUCCESS end
  local job, fault = request.parse(request.text(options["comment"], os.getenv("EVENKEEL_REQUEST")))
  if fault then return refuse(fault) end
  -- A step inside a job has its job's plan.
  if not job or (options["type"] == "srun" and os.getenv("SLURM_JOB_ID")) then return slurm.SUCCESS end
  local settings, wrong = request.settings(FOLDER .. "/evenkeel.conf")
  if not settings then return refuse(wrong) end
  -- An answer that does not come from evenkeelctl must not look like a defect of Slurm.
  local ran, result = pcall(plan, options, job, settings)
  if not ran then return without(options, settings, "no plan in the answer: " .. tostring(result)) end
  return result
end

local function refused(text)
  slurm.log_user("%s", "evenkeel: " .. text)
  return slurm.ERROR
end

-- Serves job_submit's slurm_job_submit: form and consistency only, in microseconds; slurmctld waits for nothing. Jobs
-- without a script (srun, salloc, later parts of heterogeneous jobs) bring no environment to look at.
function M.job_submit(job)
  if not job.script then return slurm.SUCCESS end
  local wanted, fault = request.parse(request.text(job.comment, job.environment["EVENKEEL_REQUEST"]))
  if fault then return refused(fault) end
  if not wanted then return slurm.SUCCESS end
  local settings, wrong = request.settings(FOLDER .. "/evenkeel.conf")
  if not settings then return refused(wrong) end
  local id = job.environment["EVENKEEL_PLAN_ID"]
  local range = sizes.range(job.min_nodes, job.max_nodes)
  if range and (not id or id == "") then
    local found, missing = sizes.found(job.environment, range, PLAN_ID)
    if found and missing then return refused(missing) end
    if found then
      job.admin_comment = "evenkeel: " .. found
      return slurm.SUCCESS
    end
  end
  if not id or id == "" then
    if settings.unavailable == "refuse" then
      return refused("this job asks for a plan but has none: submit it where cli_filter.lua is in force")
    end
    job.admin_comment = "evenkeel: no plan"
    return slurm.SUCCESS
  end
  if not id:match(PLAN_ID) then return refused("EVENKEEL_PLAN_ID is '" .. id .. "', which is no plan id") end
  local all = request.resources(job.tres_per_job, nil, job.tres_per_node, job.min_nodes, job.max_nodes, job.num_tasks)
  local planned = tonumber(job.environment["EVENKEEL_GPUS"])
  if not wanted.job and all and planned and all ~= planned then
    return refused("the plan is for " .. planned .. " GPUs, but the job asks for " .. all)
  end
  job.admin_comment = "evenkeel: " .. id
  return slurm.SUCCESS
end

return M
