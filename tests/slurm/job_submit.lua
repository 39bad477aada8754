-- What a site's slurmdbd would refuse, without one: accounts that nobody has, and those that a partition does not take.
-- `banner`, when the file beside slurm.conf sets it, is shown to everyone who submits, as sites do.

local INVALID_ACCOUNT = 2045 -- ESLURM_INVALID_ACCOUNT of slurm_errno.h
local ACCOUNTS = { physics = true, history = true }
local ONLY = { small = "physics" }

local function is_allowed(account, partition)
  local only = ONLY[partition or ""]
  if account == nil then
    return only == nil
  end
  return ACCOUNTS[account] and (only == nil or only == account)
end

function slurm_job_submit(job, partitions, uid)
  if banner then
    slurm.log_user("%s", banner)
  end
  if is_allowed(job.account, job.partition) then
    return slurm.SUCCESS
  end
  return INVALID_ACCOUNT
end

function slurm_job_modify(job, record, partitions, uid)
  return slurm.SUCCESS
end
