-- Decodes JSON: objects and arrays become tables, null nil. Raises an error if the text is no JSON. For evenkeel.lua.
local M = {}

local ESCAPES = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }
local LITERALS = { { "true", true }, { "false", false }, { "null", nil } }
local value

local function fail(at) error("no JSON at byte " .. at, 0) end

local function skip(text, at) return text:find("%S", at) or #text + 1 end

-- Characters outside ASCII become question marks: messages need no more.
local function unescape(text)
  text = text:gsub("\\u(%x%x%x%x)", function(hex)
    local code = tonumber(hex, 16)
    return code < 128 and (code == 92 and "\\\\" or string.char(code)) or "?"
  end)
  return (text:gsub("\\(.)", function(letter) return ESCAPES[letter] or letter end))
end

local function string_at(text, at)
  local from = at + 1
  while true do
    local stop = text:find('["\\]', from) or fail(at)
    if text:sub(stop, stop) == '"' then return unescape(text:sub(at + 1, stop - 1)), stop + 1 end
    from = stop + 2
  end
end

-- Reads the members between an opening and a closing bracket; `member` reads one into `found`.
local function members(text, at, close, member)
  local found = {}
  at = skip(text, at + 1)
  if text:sub(at, at) == close then return found, at + 1 end
  while true do
    at = skip(text, member(found, at))
    local mark = text:sub(at, at)
    if mark == close then return found, at + 1 end
    if mark ~= "," then fail(at) end
    at = skip(text, at + 1)
  end
end

function value(text, at)
  at = skip(text, at)
  local first = text:sub(at, at)
  if first == '"' then return string_at(text, at) end
  if first == "{" then
    return members(text, at, "}", function(found, from)
      if text:sub(from, from) ~= '"' then fail(from) end
      local key, after = string_at(text, from)
      after = skip(text, after)
      if text:sub(after, after) ~= ":" then fail(after) end
      found[key], after = value(text, after + 1)
      return after
    end)
  end
  if first == "[" then
    return members(text, at, "]", function(found, from)
      local item, after = value(text, from)
      found[#found + 1] = item
      return after
    end)
  end
  for _, literal in ipairs(LITERALS) do
    if text:sub(at, at + #literal[1] - 1) == literal[1] then return literal[2], at + #literal[1] end
  end
  local number = text:match("^-?%d+%.?%d*[eE]?[+-]?%d*", at) or fail(at)
  return tonumber(number) or fail(at), at + #number
end

function M.decode(text)
  local found, at = value(text, 1)
  if skip(text, at) <= #text then fail(at) end
  return found
end

return M
