/// Trials that a killed manager has left behind.
#pragma once

#include <filesystem>
#include <vector>

#include "ensemble/model/records.h"

namespace slipway::launcher {

/// For views: shows as lost what the book in `run_folder` calls claimed or running although no manager is there and its
/// process on this host is gone. The book stays as it is: `resume` writes down the end that such a trial has left, or
/// runs it again. A trial in a Slurm job of its own may go on, and one of another host cannot be seen from here: they
/// keep their state. So do all while a process holds the lock, or may hold it.
///
/// `trials`: as read from the book, in the order of their numbers.
/// Cost: nothing without such trials; with them the lock's text, and without a manager a second look into the book. If
/// some are gone it has the lock for a moment, which a manager or command that begins then waits for.
/// Errors: those of TrialBook::OpenForReading.
void MarkLost(const std::filesystem::path& run_folder, std::vector<ensemble::TrialRecord>& trials);

}  // namespace slipway::launcher
