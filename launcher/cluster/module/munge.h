/// Whether munge vouches for this process, asked before libslurm does: that tries again for most of a minute.
#pragma once

#include <string_view>

namespace slipway::launcher {

/// `auth_type` and `auth_info` are those of slurm.conf: another way than auth/munge is not checked.
/// Cost:   a credential, below a millisecond.
/// Errors: SlurmError(kAuthentication) in munge's own words.
void CheckMunge(std::string_view auth_type, std::string_view auth_info);

/// "/run/x" of "cred_expire=5,socket=/run/x"; empty when it names none.
std::string_view MungeSocketIn(std::string_view auth_info);

}  // namespace slipway::launcher
