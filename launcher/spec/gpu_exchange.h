/// What settings of an experiment do to the exchange of tensors in GPU memory.
#pragma once

#include <string>
#include <vector>

#include "launcher/spec/spec.h"

namespace slipway::launcher {

/// The fields whose values need the CPU between the ranks (core/cpu_work.h): `auto` is then staged. Pure.
std::vector<std::string> FieldsForTheCpu(const Spec& spec);

/// Why ranks refuse to exchange tensors in GPU memory by `way`; empty: they do not. Whether the GPUs reach each other
/// is known at the start only. Pure.
std::string WhyRefusedOnGpus(const Spec& spec, GpuExchangeWay way);

}  // namespace slipway::launcher
