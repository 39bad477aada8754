#include "launcher/run/data/buffer_transfers.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "launcher/cluster/buffer_request.h"
#include "staging/out/copy_files.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
namespace {

using staging::FileToCopy;

/// The list holds a path of a regular file in each line.
std::vector<FileToCopy> FilesOf(const fs::path& list) {
  std::vector<FileToCopy> files;
  for (const auto& line : LinesOf(ReadFile(list))) {
    if (line.empty()) continue;
    const fs::path path(line);
    if (!path.is_absolute() || !path.has_filename()) {
      throw Error(ErrorKind::kUsage, fmt::format("'{}' names '{}', which is no absolute path", list.string(), line),
                  "write one absolute path a line");
    }
    files.push_back({path, path.filename().string()});
  }
  return files;
}

/// Where the files of a transfer go, when it is none of a directory.
struct FilesToCopy {
  std::vector<FileToCopy> files;
  fs::path directory;
};

FilesToCopy FilesInto(const BufferTransfer& transfer, const fs::path& buffer) {
  const auto inside = buffer / transfer.inside;
  if (transfer.kind == TransferKind::kList) return {FilesOf(transfer.outside), inside};
  return {{{transfer.outside, inside.filename().string()}}, inside.parent_path()};
}

std::uint64_t SizeOf(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  if (error) throw SystemError(error.value(), fmt::format("cannot read '{}'", file.string()));
  return size;
}

std::uint64_t SizeOf(const BufferTransfer& transfer, const fs::path& buffer, const staging::StageOutOptions& options) {
  if (transfer.kind == TransferKind::kDirectory) {
    return staging::WorkOf(transfer.outside, buffer / transfer.inside, options).bytes.count;
  }
  std::uint64_t sum = 0;
  for (const auto& file : FilesInto(transfer, buffer).files) sum += SizeOf(file.source);
  return sum;
}

staging::StageOptions AsOf(const staging::StageOutOptions& options) {
  staging::StageOptions copy;
  copy.cancelled = options.cancelled;
  copy.bandwidth = options.bytes_per_second.value_or(Bytes{});
  return copy;
}

void CopyIn(const BufferTransfer& transfer, const fs::path& buffer, const staging::StageOutOptions& options) {
  if (transfer.kind == TransferKind::kDirectory) {
    staging::StageOutDirectory(transfer.outside, buffer / transfer.inside, options);
    return;
  }
  const auto [files, directory] = FilesInto(transfer, buffer);
  staging::CopyFiles(files, directory, AsOf(options));
}

/// The buffer may be removed next. So what cannot be copied keeps nothing else back, and a file is not taken for
/// unchanged by its time. Returns what cannot be copied.
std::vector<staging::Refused> CopyDirectoryOut(const fs::path& inside, const fs::path& outside,
                                               staging::StageOutOptions options) {
  options.unsuitable = staging::Unsuitable::kLeaveOut;
  options.unchanged = staging::Unchanged::kContents;
  return staging::StageOutDirectory(inside, outside, options).refused;
}

/// Returns what cannot be copied. Errors: only those that end the work.
std::vector<staging::Refused> CopyOut(const BufferTransfer& transfer, const fs::path& buffer,
                                      const staging::StageOutOptions& options) try {
  const auto inside = buffer / transfer.inside;
  if (transfer.kind == TransferKind::kDirectory) return CopyDirectoryOut(inside, transfer.outside, options);
  staging::CopyFiles({{inside, transfer.outside.filename().string()}}, transfer.outside.parent_path(), AsOf(options));
  return {};
} catch (const Error& error) {
  if (error.kind() == ErrorKind::kInterrupted) throw;
  return {{transfer.outside, error}};
}

std::string Named(std::string_view verb, const BufferTransfer& transfer) {
  return fmt::format("{} '{}'", verb, transfer.outside.string());
}

}  // namespace

void CheckDirectives(const std::string& script) { ReadBufferRequest(script); }

void CopyIntoBuffer(const std::string& script, const fs::path& buffer, std::optional<Bytes> capacity,
                    const staging::StageOutOptions& options) {
  const auto request = ReadBufferRequest(script);
  Bytes needed;
  for (const auto& transfer : request.in) {
    needed.count += WithContext(Named("stage_in of", transfer), [&] { return SizeOf(transfer, buffer, options); });
  }
  if (capacity && needed > *capacity) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("stage_in of {} bytes into a burst buffer of {} bytes", needed.count, capacity->count),
                "ask for more capacity");
  }
  for (const auto& transfer : request.in) {
    WithContext(Named("stage_in of", transfer), [&] { CopyIn(transfer, buffer, options); });
  }
}

void CopyOutOfBuffer(const std::string& script, const fs::path& buffer, const staging::StageOutOptions& options) {
  std::vector<staging::Refused> refused;
  std::vector<std::string> failed;
  for (const auto& transfer : ReadBufferRequest(script).out) {
    const auto name = Named("stage_out to", transfer);
    const auto more = WithContext(name, [&] { return CopyOut(transfer, buffer, options); });
    if (more.empty()) continue;
    refused.insert(refused.end(), more.begin(), more.end());
    failed.push_back(name);
  }
  if (refused.empty()) return;
  auto error = staging::ErrorOf(refused);
  for (const auto& name : failed) error.AddContext(name);
  throw error;
}

}  // namespace slipway::launcher
