/// The record of a run's place for checkpoints and results in a tier: `outbox.json` in the run folder. It is written
/// before the place exists, and stays as long as the place may hold anything.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launcher/run_folder/run_folder.h"
#include "launcher/spec/spec.h"
#include "staging/out/out_place.h"

namespace slipway::launcher {

/// Stored in outbox.json as words.
///
///   intended -> open -> settled -> (no record)
///                 ^--------'   when the run goes on in the same place
enum class StageOutState {
  kIntended,  ///< the directory may not be there yet: nothing is in it
  kOpen,
  kSettled  ///< all has been copied out: the directory may be half removed
};
WordTable<StageOutState> WordsOf(StageOutState);

struct StageOutRecord {
  std::string tier;
  std::filesystem::path directory;
  std::string host;
  StageOutState state = StageOutState::kIntended;
  int keep = CheckpointSpec{}.keep;
  std::optional<Bytes> bandwidth{};  ///< a second
};

std::filesystem::path StageOutRecordFile(const RunFolder& folder);
/// Nothing when there is none. Errors: Error(kEnvironment) when it is damaged.
std::optional<StageOutRecord> ReadOutboxRecord(const RunFolder& folder);
/// Durable.
void WriteOutboxRecord(const RunFolder& folder, const StageOutRecord& record);

/// Creates the directory with the run's name in it, so that no other run uses it.
void MakeOutbox(const RunFolder& folder, const StageOutRecord& record);
/// True when the directory exists, is ours, and belongs to this run. A file in it says so; if a cleaner of old files
/// removed that, the directory's name counts. Errors, here and below: SystemError when it cannot be looked at, as on a
/// file system that does not answer; it may be there.
bool HasOutbox(const RunFolder& folder, const StageOutRecord& record);
/// True when the directory is gone, although it may have held data.
bool LostOutbox(const RunFolder& folder, const StageOutRecord& record);

/// True when the directory, or what is left of its removal, can only be on another host.
bool IsElsewhere(const RunFolder& folder, const StageOutRecord& record);

/// Removes the directory, if it belongs to this run, and then the record. May be repeated after an interruption.
void RemoveOutbox(const RunFolder& folder, const StageOutRecord& record);

/// A place in the stage_out_queue, and its trial.
struct RunOutPlace {
  staging::OutPlace place;
  std::optional<int> trial;
};
/// The place of the run or trial in `folder`, whether it exists or not. `run` is the run's folder, or a trial's in it.
RunOutPlace OutPlaceFor(const RunFolder& folder, const StageOutRecord& record, const std::filesystem::path& run);
/// All existing places. Errors: SystemError when the directory cannot be read: what is not found is not copied, and
/// removed with the rest.
std::vector<RunOutPlace> OutPlacesIn(const RunFolder& folder, const StageOutRecord& record);

}  // namespace slipway::launcher
