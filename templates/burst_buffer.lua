-- The burst buffer of a site, for Slurm's plugin burst_buffer/lua (21.08 and later): a directory on a fast file system
-- that all nodes see, for each job that asks for one. `slipway stage directives` copies in and out, as the job's owner,
-- and checks what it copies.
--
--   #BB_LUA pool=flash capacity=64GiB
--   #BB_LUA stage_in type=directory source=/project/train destination=$BB_JOB_STRIPED/train
--   #BB_LUA stage_out type=directory source=$BB_JOB_STRIPED/results destination=/project/results
--
-- Put it beside slurm.conf as burst_buffer.lua, set what follows, and see docs/site-admin/burst-buffer.md.

local site = {
  program = "/usr/bin/slipway",          -- on a local disk of the controller: slurmctld itself waits for it
  root = "/flash/slurm-buffers",         -- on the fast file system; owned by root, mode 0711
  pool = "flash",                        -- what jobs name in pool=
  capacity_mib = 100 * 1024 * 1024,      -- that all jobs may have together
  granularity_mib = 1024,                -- what a job asks for is rounded up to it
  bandwidth = "",                        -- most bytes a second that one job's staging may take, e.g. "5GB"; "": no limit
  -- The words that make a command the job owner's. Where SlurmUser is not root, a rule of sudo may allow it this much.
  as_user = function(uid, gid)
    return { "setpriv", "--reuid", uid, "--regid", gid, "--init-groups", "--" }
  end,
}

-- Nothing that a user wrote is ever a word of a command: users' text is in the job's script, which only `slipway` reads.
-- What is left are numbers and paths, and they are quoted all the same.
local function quoted(word)
  return "'" .. tostring(word):gsub("'", "'\\''") .. "'"
end

-- Runs a command, with the file `input` (or nothing) to read; returns its exit status and all that it said.
local function run(words, input)
  local line = {}
  for _, word in ipairs(words) do
    line[#line + 1] = quoted(word)
  end
  local pipe = io.popen(table.concat(line, " ") .. " <" .. quoted(input or "/dev/null") ..
                        " 2>&1; status=$?; echo; echo $status")
  if not pipe then
    return 127, "cannot start " .. words[1]
  end
  local said = pipe:read("*a") or ""
  pipe:close()
  local text, status = said:match("^(.-)%s*(%d+)\n$")
  return tonumber(status) or 127, text or said
end

-- What Slurm wants to hear. Its users see the text as the reason of their job.
local function answer(what, status, text)
  if status == 0 then
    return slurm.SUCCESS
  end
  slurm.log_error("%s: %s", what, text)
  return slurm.ERROR, text
end

local function append(words, more)
  for _, word in ipairs(more) do
    words[#words + 1] = word
  end
  return words
end

-- Job ids and users are numbers; anything else is not for us.
local function number(text)
  local digits = tostring(text):match("^%d+$")
  return digits or error("not a number: " .. tostring(text))
end

local function place_of(job_id)
  return site.root .. "/" .. number(job_id)
end

-- Slurm 22.05 tells owner and size to `setup` only, so they are kept beside the data, where only root writes.
local function remember(job_id, owner)
  local file = assert(io.open(place_of(job_id) .. "/owner", "w"))
  file:write(owner.uid, " ", owner.gid, " ", owner.size, "\n")
  assert(file:close())
end

local function recall(job_id)
  local file = io.open(place_of(job_id) .. "/owner")
  if not file then
    return nil
  end
  local uid, gid, size = (file:read("*l") or ""):match("^(%d+) (%d+) (%d+)$")
  file:close()
  return uid and { uid = uid, gid = gid, size = size }
end

local own_uid -- of who runs this; asked for once

local function words_as(owner)
  if not own_uid then
    local status, text = run({ "id", "-u" })
    own_uid = status == 0 and text or ""
  end
  return owner.uid == own_uid and {} or site.as_user(owner.uid, owner.gid)
end

-- As the job's owner: nobody stages what they may not read.
local function stage(direction, job_id, job_script, more)
  local owner = recall(job_id)
  if not owner then
    return slurm.ERROR, "the burst buffer of job " .. job_id .. " is not there"
  end
  local words = append(words_as(owner), { site.program, "stage", "directives", direction, "-" })
  append(words, { "--buffer", place_of(job_id) .. "/data" })
  if site.bandwidth ~= "" then
    append(words, { "--bandwidth", site.bandwidth })
  end
  -- The owner may not read what slurmctld keeps: the script is opened here.
  return answer("stage " .. direction, run(append(words, more(owner)), job_script))
end

-- ---- What Slurm calls. All functions must exist; later versions than 22.05 add arguments at the end.

-- In slurmctld itself, when a job is submitted: must be quick.
function slurm_bb_job_process(job_script)
  return answer("job_process", run({ "timeout", "5", site.program, "stage", "directives", "check", "-" }, job_script))
end

-- In slurmctld itself.
function slurm_bb_pools()
  local pieces = math.floor(site.capacity_mib / site.granularity_mib)
  return slurm.SUCCESS, string.format('{"pools": [{"id": "%s", "quantity": %d, "granularity": %.0f}]}', site.pool, pieces,
                                      site.granularity_mib * 1048576)
end

-- Makes the directory. Here a site also sets a quota, where its file system has one.
function slurm_bb_setup(job_id, uid, gid, pool, size, job_script)
  local place = place_of(job_id)
  run({ "rm", "-rf", "--one-file-system", "--", place }) -- of a job that starts over
  local owner = { uid = number(uid), gid = number(gid), size = number(size) }
  local status, text = run({ "mkdir", "-m", "0711", "--", place })
  if status == 0 then
    status, text = run({ "mkdir", "-m", "0700", "--", place .. "/data" })
  end
  if status == 0 and #words_as(owner) > 0 then
    status, text = run({ "chown", owner.uid .. ":" .. owner.gid, "--", place .. "/data" })
  end
  if status == 0 then
    remember(job_id, owner)
  end
  return answer("setup", status, text)
end

function slurm_bb_data_in(job_id, job_script)
  return stage("in", job_id, job_script, function(owner)
    return { "--capacity", owner.size .. "B" }
  end)
end

function slurm_bb_test_data_in()
  return slurm.SUCCESS
end

function slurm_bb_real_size(job_id)
  local owner = recall(job_id)
  if not owner then
    return slurm.ERROR, "the burst buffer of job " .. job_id .. " is not there"
  end
  return slurm.SUCCESS, owner.size
end

-- In slurmctld itself: the variables that the job finds its buffer by.
function slurm_bb_paths(job_id, job_script, path_file)
  local file = io.open(path_file, "w")
  if not file then
    return slurm.ERROR, "cannot write " .. path_file
  end
  file:write("BB_JOB_STRIPED=", place_of(job_id), "/data\n")
  file:close()
  return slurm.SUCCESS
end

function slurm_bb_pre_run()
  return slurm.SUCCESS
end

function slurm_bb_post_run()
  return slurm.SUCCESS
end

function slurm_bb_data_out(job_id, job_script)
  return stage("out", job_id, job_script, function()
    return {}
  end)
end

function slurm_bb_test_data_out()
  return slurm.SUCCESS
end

-- Also for jobs that never had one.
function slurm_bb_job_teardown(job_id, job_script, hurry)
  return answer("teardown", run({ "rm", "-rf", "--one-file-system", "--", place_of(job_id) }))
end

-- `scontrol show bbstat`: what there is. The arguments are the user's, and are not looked at.
function slurm_bb_get_status()
  local status, text = run({ "du", "-sh", "--", site.root })
  return status == 0 and slurm.SUCCESS or slurm.ERROR, text
end
