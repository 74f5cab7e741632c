-- Jobs for a range of nodes (--nodes=MIN-MAX), which have a plan for each number of nodes. Used by evenkeel.lua.
local M = {}

local MOST_SIZES = 256 -- of PlanCurve
local SHOWN = 8

-- Returns {least, most} if these are numbers that differ.
function M.range(least, most)
  least, most = tonumber(least), tonumber(most)
  if not least or not most or least < 1 or most <= least or most - least >= MOST_SIZES then return nil end
  return { least = math.floor(least), most = math.floor(most) }
end

-- Returns the points of a curve by ascending nodes; nil if the answer is none.
function M.points(answer, plan_id)
  local curve = type(answer) == "table" and type(answer.curves) == "table" and answer.curves[1]
  local points = type(curve) == "table" and curve.points
  if type(points) ~= "table" or #points == 0 then return nil end
  for _, point in ipairs(points) do
    local fits = point.state == "CURVE_POINT_STATE_FITS"
    if type(point.nodes) ~= "number" or (fits and not tostring(point.plan_id):match(plan_id)) then return nil end
  end
  return points
end

local function fits(point) return point.state == "CURVE_POINT_STATE_FITS" end

-- Returns what to say if the job does not fit on every number of nodes: Slurm may give it any of them.
function M.misfit(points, range)
  local bad, least, most
  for _, point in ipairs(points) do
    if not fits(point) then
      bad = bad or point
      least, most = nil, nil -- the range above the largest size that does not fit
    else
      least, most = least or math.floor(point.nodes), math.floor(point.nodes)
    end
  end
  if not bad then return nil end
  local text = string.format("this job does not fit on %d of %d to %d nodes. %s", math.floor(bad.nodes), range.least,
                             range.most, bad.reason or "")
  if not most then return text end
  local nodes = least == most and tostring(most) or least .. "-" .. most
  return text .. " Nearest change: --nodes=" .. nodes .. "."
end

local function name_of(point) return "EVENKEEL_PLAN_ID_" .. math.floor(point.nodes) end

function M.variables(points)
  local found = {}
  for _, point in ipairs(points) do found[name_of(point)] = point.plan_id end
  return found
end

-- Returns the sizes in words: "seconds per step on 1, 2, 3 nodes: 34.7, 17.4, 17.4 (3 gains nothing)".
function M.text(points)
  local nodes, seconds, idle = {}, {}, {}
  for i, point in ipairs(points) do
    if i < SHOWN or i == #points then
      nodes[#nodes + 1] = tostring(math.floor(point.nodes))
      seconds[#seconds + 1] = string.format("%.3g", point.step_seconds)
    elseif i == SHOWN then
      nodes[#nodes + 1], seconds[#seconds + 1] = "...", "..."
    end
    if point.dominated then idle[#idle + 1] = math.floor(point.nodes) end
  end
  local text = "seconds per step on " .. table.concat(nodes, ", ") .. " nodes: " .. table.concat(seconds, ", ")
  if #idle == 0 then return text end
  return text .. " (no better than fewer nodes: " .. table.concat(idle, ", ", 1, math.min(#idle, SHOWN)) ..
         (#idle > SHOWN and ", ..." or "") .. ")"
end

-- Returns the ids that a job for a range brings, in words, and what is missing; nil if it brings none.
function M.found(environment, range, plan_id)
  local ids, missing = {}, nil
  for nodes = range.least, range.most do
    local id = environment["EVENKEEL_PLAN_ID_" .. nodes]
    if id and id:match(plan_id) then
      ids[#ids + 1] = nodes .. " nodes " .. id
    else
      missing = missing or "EVENKEEL_PLAN_ID_" .. nodes .. " is '" .. (id or "") .. "', which is no plan id"
    end
  end
  if #ids == 0 then return nil end
  return #ids == 1 and ids[1] or ids[1] .. " to " .. ids[#ids], missing
end

return M
