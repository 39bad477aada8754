/// HDF5 files that were not checked yet, read in a helper process with limits.
///
/// libhdf5 crashes on some damaged files, and runs without end on others. Here that ends only the helper, and becomes
/// an Error about the file. docs/decisions/0006-hdf5-in-a-module.md lists which process reads what.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "staging/foreign/messages.h"
#include "staging/formats/hdf5.h"

namespace slipway::staging {

class Hdf5Helper;

/// An open file. Calls from one thread at a time; files of several threads are read at the same time.
///
/// Limits: processor time for each step (a list of the datasets, a chunk, rows) and memory; SLIPWAY_HDF5_SECONDS and
///         SLIPWAY_HDF5_MEMORY change them.
/// Errors: those of Hdf5File; Error(kEnvironment) when the helper crashed, went beyond a limit, or cannot be started.
class ForeignHdf5 {
 public:
  /// `on_wait` is called several times a second while the helper works, and may throw to stop it.
  explicit ForeignHdf5(const std::filesystem::path& path, std::function<void()> on_wait = {});
  ForeignHdf5(ForeignHdf5&&) noexcept;
  ForeignHdf5& operator=(ForeignHdf5&&) noexcept;
  ~ForeignHdf5();

  // Those of Hdf5File.
  const std::vector<Hdf5Dataset>& Datasets() const { return contents_.datasets; }
  const std::vector<Hdf5Other>& Others() const { return contents_.others; }
  void ReadRows(std::string_view dataset, std::uint64_t begin, std::uint64_t end, NumberType as,
                std::span<std::byte> out);
  std::vector<std::string> ReadBytes(std::string_view dataset, std::uint64_t begin, std::uint64_t end);
  Hdf5Verification Verify();

  Hdf5StoredAs StoredAs(std::string_view dataset);

 private:
  HelperMessage Ask(const Json& request, std::string_view what);
  DocumentName AnswerName() const;
  /// Runs `read`; what it cannot understand is an Error.
  template <class Read>
  auto Understand(Read&& read);

  std::filesystem::path path_;
  std::function<void()> on_wait_;
  std::unique_ptr<Hdf5Helper> helper_;
  Hdf5FileContents contents_;
};

}  // namespace slipway::staging
