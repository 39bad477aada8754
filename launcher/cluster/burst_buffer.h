/// The burst-buffer directives of a batch script, in three languages. Pure.
///
/// DataWarp:  `#DW` and `#BB` lines, read by Slurm's plugin burst_buffer/datawarp.
/// DWS:       the language of HPE's Rabbit, DataWarp's successor: `#DW` lines with other words.
/// Lua:       `#BB_LUA` lines, read by Slurm's plugin burst_buffer/lua and interpreted by its script.
/// Source:    Slurm's burst_buffer.html; DataWarp User Guide S-2558; the documentation of NearNodeFlash.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "core/words.h"

namespace slipway::launcher {

enum class BurstBufferKind { kNone, kDataWarp, kDws, kLua };
WordTable<BurstBufferKind> WordsOf(BurstBufferKind);
enum class BufferAccess {
  kStriped,  ///< all nodes of the job see the same
  kPrivate   ///< each node its own; the system cannot stage into it
};
WordTable<BufferAccess> WordsOf(BufferAccess);
enum class PersistentAction { kUse, kCreate, kDestroy };
WordTable<PersistentAction> WordsOf(PersistentAction);

enum class TransferKind { kFile, kDirectory, kList };
WordTable<TransferKind> WordsOf(TransferKind);

/// One copy between the shared file system and the buffer.
struct BufferTransfer {
  TransferKind kind = TransferKind::kFile;
  std::filesystem::path outside;  ///< absolute; for kList a file that names regular files, one a line
  std::string inside;             ///< relative to the buffer; for kList the directory that takes them all
};

struct BurstBuffer {
  BurstBufferKind kind = BurstBufferKind::kNone;
  BufferAccess access = BufferAccess::kStriped;
  Bytes capacity;          ///< of all nodes together; rounded up to whole MiB, from 1 GiB on to whole GiB
  std::string pool;        ///< empty: the site's; for DWS the profile
  std::string persistent;  ///< its name; empty: a buffer that lives as long as the job
  PersistentAction action = PersistentAction::kUse;  ///< with a persistent one
  std::vector<BufferTransfer> in;
  std::vector<BufferTransfer> out;
};

/// The lines, in order, without their line ends; none for kNone.
/// Errors: Error(kUsage) for any of these:
/// - a path or name that the directive cannot hold (it knows no quotes);
/// - a path that leaves the buffer;
/// - a capacity of 0;
/// - for Lua: a capacity without a pool, or a persistent buffer;
/// - for DWS: a list.
std::vector<std::string> BurstBufferDirectives(const BurstBuffer& buffer);

/// The job's variable with the buffer's directory: "DW_JOB_STRIPED". Empty for kNone, and for a buffer that is only
/// destroyed.
std::string BufferVariable(const BurstBuffer& buffer);

/// "3GiB", "512MiB": at least `capacity`.
std::string CapacityText(Bytes capacity);

}  // namespace slipway::launcher
