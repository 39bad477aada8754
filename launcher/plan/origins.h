/// Where the values of a spec come from that its own file does not hold.
#pragma once

#include <string>

#include "launcher/spec/load.h"

namespace slipway::launcher {

/// A line for each field that a settings file or `--set` gave: "launch.slurm.account: m1234
/// (/etc/slipway/site.yaml:3)". Empty without any.
std::string DescribeOrigins(const SpecDocument& document);

}  // namespace slipway::launcher
