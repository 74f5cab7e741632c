-- What a job says of itself, what it asks Slurm for, and the settings of evenkeel.conf. Used by evenkeel.lua.
local M = {}

M.PREFIX = "evenkeel:"
-- Options of `evenkeelctl plan` that a description may give.
local KEYS = {}
for key in ([[model job dataset label gpu gpus gpus-per-node domain-gpus usable-domain-gpus pod-gpus
  oversubscription inter-node-gbps network-fabric intra-node-gbytes reserve-gib host-memory-gib
  offload-optimizer offload-activations offload-modules offload-weights fused-step power-limit
  gradients overlap-tensor overlap-experts lora lora-rank lora-dropout
  lora-base lora-train global-batch unit-cap token-cap micro-batch-samples pad-to pad-multiple
  group-by-length epochs zero precision start-layers-16bit end-layers-16bit expert-dispatcher framework trainer predicted-tokens freeze seed groups
  curriculum context-exchange tp pp dp cp ep encoder-dp virtual-stages schedule partition recompute
  memory-confidence launch save]]):gmatch("%S+") do
  KEYS[key] = true
end
local DEFAULTS = { server = "127.0.0.1:50051", command = "evenkeelctl", timeout_seconds = "5", unavailable = "submit" }

-- Returns settings, or nil and what is wrong with them.
function M.settings(path)
  local found = { gpu_type = {} }
  for key, value in pairs(DEFAULTS) do found[key] = value end
  local file = io.open(path)
  if not file then return found end
  for line in file:lines() do
    local key, value = line:match("^%s*([%w_.]+)%s*=%s*(.-)%s*$")
    local gpu = key and key:match("^gpu_type%.(.+)$")
    if gpu then
      found.gpu_type[gpu:lower()] = value
    elseif key and (DEFAULTS[key] or key == "environment_file") then
      found[key] = value
    elseif line:match("^%s*[^#%s]") then
      file:close()
      return nil, "evenkeel.conf: unknown line '" .. line .. "'"
    end
  end
  file:close()
  found.timeout_seconds = tonumber(found.timeout_seconds)
  if not found.timeout_seconds or found.timeout_seconds <= 0 then
    return nil, "evenkeel.conf: timeout_seconds must be a number above 0"
  end
  if found.unavailable ~= "submit" and found.unavailable ~= "refuse" then
    return nil, "evenkeel.conf: unavailable must be submit or refuse, not '" .. found.unavailable .. "'"
  end
  return found
end

-- Returns the description, from the comment or else from the variable, and where it is.
function M.text(comment, variable)
  if comment and comment:sub(1, #M.PREFIX) == M.PREFIX then return comment, "--comment" end
  return variable and variable ~= "" and M.PREFIX .. variable or nil, "EVENKEEL_REQUEST"
end

local function pairs_of(text)
  local found = {}
  for part in (text:sub(#M.PREFIX + 1):match("^%S*") .. ","):gmatch("(.-),") do
    local key, value = part:match("^([%w-]+)=(.+)$")
    if not key then return nil, "'" .. part .. "' is not KEY=VALUE, as in evenkeel:model=llama3-8b,global-batch=128" end
    if not KEYS[key] then return nil, "unknown key '" .. key .. "': docs/SLURM.md lists them" end
    if found[key] then return nil, "'" .. key .. "' is given twice" end
    found[key] = value
  end
  if not found.model and not found.job then return nil, "give model=NAME (evenkeelctl models) or job=FILE" end
  return found
end

-- Returns {key = value} of what M.text gave; nil if there is none; nil and what is wrong with it.
function M.parse(text, where)
  if not text then return nil end
  -- In a comment, what follows belongs to somebody else; the variable has nothing else in it.
  if where == "EVENKEEL_REQUEST" and text:find("%s") then return nil, where .. ": has a space in it" end
  local found, fault = pairs_of(text)
  return found, fault and where .. ": " .. fault
end

-- Returns type (or nil) and number of GPUs of a list such as "gpu:h100:8,tmpdisk:10" or "gres:gpu:8"; with `alone` of
-- one such as "h100:8" or "8", as --gpus has it. Returns nil if there are none.
local function gpus_of(text, alone)
  for part in ((text or "") .. ","):gmatch("(.-),") do
    local rest = part:gsub("^gres[:/]", ""):match("^gpu[:=]?(.*)$") or (alone and part)
    if rest == "" and not alone then return nil, 1 end
    if rest then
      local kind, count = rest:match("^(%a[^:=]*)[:=](%d+)$")
      count = count or rest:match("^(%d+)$")
      if count then return kind, tonumber(count) end
      if not alone then return rest, 1 end
    end
  end
end

local NO_VALUE = 4294967294 -- slurm.NO_VAL, and above it INFINITE

-- Returns a positive number that says something, else nil.
local function count_of(value)
  local count = tonumber(value)
  return count and count >= 1 and count < NO_VALUE and count or nil
end

-- Returns GPUs in all, per node and their type, of what the job asks Slurm for; each nil if it does not say. Nodes that
-- are a range, or several tasks on no number of nodes, leave open how many GPUs "per node" come to.
function M.resources(total, per_node, gres, least, most, tasks)
  local kind, all = gpus_of(total, true)
  local node_kind, each = gpus_of(per_node, true)
  if not each then node_kind, each = gpus_of(gres) end
  least, most = count_of(least), count_of(most)
  local nodes = most and least == most and most or nil
  if not nodes and not most and (count_of(tasks) or 1) == 1 then nodes = 1 end
  if not all and each and nodes then all = each * nodes end
  if not each and all and most and nodes and all % nodes == 0 then each = all / nodes end
  return all and math.floor(all), each and math.floor(each), kind or node_kind
end

-- Puts what Slurm is asked for into the request; returns what is wrong if the two differ. A `range` of nodes leaves the
-- number of GPUs open.
function M.complete(request, settings, all, each, kind, range)
  if request.job then return end
  if kind and not request.gpu then
    request.gpu = settings.gpu_type[kind:lower()]
    if not request.gpu then return "no gpu_type." .. kind .. " in evenkeel.conf: give gpu=NAME (evenkeelctl gpus)" end
  end
  if request.gpus and all and tonumber(request.gpus) ~= all then
    return "gpus=" .. request.gpus .. ", but the job asks Slurm for " .. all .. " GPUs"
  end
  request.gpus = request.gpus or (all and tostring(all))
  request["gpus-per-node"] = request["gpus-per-node"] or (each and tostring(each))
  if not request.gpus and not range then return "how many GPUs? Use --gpus, or --nodes with --gpus-per-node or --gres, or give gpus=N" end
  if not request.gpu then return "which GPUs? Use --gpus=TYPE:N, or give gpu=NAME (evenkeelctl gpus)" end
end

return M
