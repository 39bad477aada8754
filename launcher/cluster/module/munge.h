/// Checks that munge issues credentials to this process, before libslurm tries: libslurm retries for most of a minute.
#pragma once

#include <string_view>

namespace slipway::launcher {

/// `auth_type` and `auth_info` are those of slurm.conf. Types other than auth/munge are not checked.
/// Cost:   a credential, below a millisecond.
/// Errors: SlurmError(kAuthentication) with munge's own words.
void CheckMunge(std::string_view auth_type, std::string_view auth_info);

/// "/run/x" of "cred_expire=5,socket=/run/x"; empty when it names none.
std::string_view MungeSocketIn(std::string_view auth_info);

}  // namespace slipway::launcher
