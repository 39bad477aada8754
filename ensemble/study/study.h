/// The study behind a book: created when the ensemble starts, held against the options when it is resumed.
#pragma once

#include "ensemble/samplers/sampler.h"
#include "ensemble/study/options.h"

namespace slipway::ensemble {

/// As the samplers need it; the name is that of the options.
SamplerSettings SamplerSettingsOf(const EnsembleOptions& options);

/// What a new study stores; `auto` is resolved to the sampler that it stands for.
/// Errors: kUsage for options that cannot be: no trials, nothing in parallel, an unknown sampler, no objective.
StudyRecord DescribeStudy(const EnsembleOptions& options, double now);

/// Errors: kUsage, naming the first difference that would mix two experiments in one book.
void CheckSameStudy(const StudyRecord& stored, const EnsembleOptions& options);

}  // namespace slipway::ensemble
