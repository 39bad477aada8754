/// What a network is worth on a set. Includes libtorch's tensors.
#pragma once

#include <filesystem>

#include "runtime/slipway.hpp"
#include "trainers/common/progress.h"
#include "trainers/common/records.h"
#include "trainers/common/replica.h"
#include "trainers/common/task.h"

namespace trainers {

/// Of no records.
Sums NoSums(const Task& task);
/// Adds one batch.
void AddBatch(Sums& sums, const Task& task, double loss, const at::Tensor& outputs, const at::Tensor& targets);
/// Collective.
Sums OverRanks(const Sums& sums, slipway::client::Session& session);

/// For a batch whose loss is not finite. Errors: std::runtime_error naming the record to blame; returns when there is
/// none.
void BlameRecord(const Task& task, const Records& records, const TensorBatch& batch);

struct Evaluated {
  Sums sums;            ///< over all ranks
  NamedValues further;  ///< what the task says of all predictions
};

/// Evaluates every record once, over all ranks. Writes predictions.npy and targets.npy into `predictions_folder`,
/// unless that is empty. Collective. Errors: naming a record whose values are not finite.
Evaluated Evaluate(const Task& task, Replica& replica, Records& records, slipway::client::Session& session,
                   const std::filesystem::path& predictions_folder = {});

}  // namespace trainers
