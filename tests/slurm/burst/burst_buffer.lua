-- The hook of Slurm's plugin burst_buffer/lua on the test bed: `#BB_LUA pool=pool capacity=N`, `#BB_LUA stage_in
-- source=PATH destination=$BB_JOB_STRIPED/...` and stage_out the other way round. The work is done by `buffer_tool`, a
-- program whose path the file beside slurm.conf sets before it reads this one.
-- Slurm 22.05 calls with strings only; later versions add arguments at the end. All functions must exist.

local function quoted(word)
  return "'" .. tostring(word):gsub("'", "'\\''") .. "'"
end

-- Runs one function of the tool; returns what Slurm wants to hear, and the tool's words when it fails.
local function call(name, arguments)
  local words = { quoted(buffer_tool), "--function", name }
  for _, argument in ipairs(arguments) do
    words[#words + 1] = quoted(argument)
  end
  local pipe = io.popen(table.concat(words, " ") .. " 2>&1; echo $?")
  local said = pipe:read("*a")
  pipe:close()
  local text, status = said:match("^(.-)\n?(%d+)\n$")
  if status == "0" then
    return slurm.SUCCESS, text
  end
  slurm.log_error("%s: %s", name, tostring(text))
  return slurm.ERROR, text
end

-- For calls whose success has nothing to tell.
local function act(name, ...)
  local status, text = call(name, { ... })
  if status == slurm.SUCCESS then
    return status
  end
  return status, text
end

function slurm_bb_job_process(job_script)
  return act("job_process", "--job", job_script)
end

function slurm_bb_pools()
  return call("pools", {})
end

function slurm_bb_setup(job_id, uid, gid, pool, size, job_script)
  return act("setup", "--token", job_id, "--user", uid, "--groupid", gid, "--capacity", pool .. ":" .. size)
end

function slurm_bb_data_in(job_id, job_script)
  return act("data_in", "--token", job_id, "--job", job_script)
end

function slurm_bb_real_size(job_id)
  local status, text = call("real_size", { "--token", job_id })
  return status, status == slurm.SUCCESS and text:match('"capacity": (%d+)') or text
end

function slurm_bb_paths(job_id, job_script, path_file)
  return act("paths", "--token", job_id, "--job", job_script, "--pathfile", path_file)
end

function slurm_bb_pre_run(job_id, job_script)
  return act("pre_run", "--token", job_id, "--job", job_script)
end

function slurm_bb_post_run(job_id, job_script)
  return act("post_run", "--token", job_id, "--job", job_script)
end

function slurm_bb_data_out(job_id, job_script)
  return act("data_out", "--token", job_id, "--job", job_script)
end

function slurm_bb_job_teardown(job_id, job_script, hurry)
  local status, text = call("teardown", { "--token", job_id })
  if status == slurm.ERROR and text:find("token not found", 1, true) then
    return slurm.SUCCESS
  end
  return status, text
end

function slurm_bb_get_status(...)
  return call("show_sessions", {})
end
