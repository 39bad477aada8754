/// Fields of records whose files are not all present yet: a dataset that is being staged, or a stream.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "staging/reader/batch_options.h"
#include "staging/reader/field_source.h"
#include "staging/reader/file_supply.h"

namespace slipway::staging {

/// The common part of both: the borders of the files from the listing, the types from the first file that arrives.
class SuppliedFields : public FieldSource {
 public:
  void RequireWholeRecords() const override;
  void SetStopped(bool stopped) override { stopped_ = stopped; }

 protected:
  /// `place_in` names the files in messages. Errors: Error(kUsage) when the listing does not count the records.
  SuppliedFields(std::unique_ptr<FileSupply> supply, const std::filesystem::path& place_in,
                 std::vector<WantedField> fields, AccessPattern pattern, std::uint64_t first_epoch);

  FileSupply& supply() const { return *supply_; }
  /// Waits for the file and opens it. Its records count from 0.
  std::unique_ptr<FieldSource> OpenFile(std::uint64_t epoch, std::size_t place) const;

 private:
  SupplyWait Waiting() const;

  std::unique_ptr<FileSupply> supply_;
  std::vector<WantedField> wanted_;
  AccessPattern pattern_;
  std::atomic<bool> stopped_ = false;
};

/// Waits for a file when its first record is wanted, and keeps it open.
class ArrivingFields final : public SuppliedFields {
 public:
  ArrivingFields(std::unique_ptr<FileSupply> supply, const std::filesystem::path& place_in,
                 std::vector<WantedField> fields, AccessPattern pattern);

  void Fetch(std::uint64_t record, FetchMemory& memory, std::span<FetchedField> fields) const override;
  std::span<const std::byte> Payload(std::uint64_t record, std::vector<std::byte>& buffer) const override;

 private:
  struct Opened {
    std::mutex mutex;  ///< one thread waits for the file, the others for it
    std::unique_ptr<FieldSource> source;
    std::atomic<const FieldSource*> ready = nullptr;
  };
  const FieldSource& Source(std::size_t file) const;

  std::vector<std::size_t> place_of_;  ///< of each file in the first epoch
  mutable std::vector<Opened> opened_;
};

/// Takes the wanted records of each file of a stream into memory while the file is there. Memory: the records in the
/// shuffle window that are on this rank, and this rank's records of one file. Also the batches that are made ahead, and
/// one that was handed out before.
class StreamedFields final : public SuppliedFields {
 public:
  StreamedFields(std::unique_ptr<FileSupply> supply, const std::filesystem::path& place_in,
                 std::vector<WantedField> fields, bool payloads, std::uint64_t first_epoch);

  void Expect(std::uint64_t epoch, std::span<const std::uint64_t> places, bool afresh) override;
  void Release(std::span<const std::uint64_t> places) override;
  void Fetch(std::uint64_t record, FetchMemory& memory, std::span<FetchedField> fields) const override;
  std::span<const std::byte> Payload(std::uint64_t record, std::vector<std::byte>& buffer) const override;

 private:
  struct Stored {
    std::vector<Shape> shapes;
    std::vector<std::vector<std::byte>> values;  ///< one for each wanted field
    std::vector<std::byte> payload;
    std::optional<Error> error;  ///< every caller gets a copy
  };
  /// A part of an epoch that is to be read: which records are wanted of which file.
  struct Part {
    std::uint64_t epoch = 0;
    std::vector<std::size_t> order;
    std::map<std::size_t, std::vector<std::uint64_t>> wanted;  ///< by file
    std::size_t next_place = 0;
  };
  using Held = std::shared_ptr<const Stored>;

  void Forget(std::span<const std::uint64_t> places);
  Held Get(std::uint64_t record) const;
  Held Find(std::uint64_t record) const;
  bool IsExpected(std::uint64_t record) const;
  /// Takes in the next file of which something is wanted. False when no file is left.
  bool TakeFile() const;
  /// Moves to the next file with wanted records, or to the part's end. The stream need not keep the files before it.
  void GoOn(Part& part) const;
  void TakeRecords(Part& part, std::size_t file) const;
  Held Store(const FieldSource& source, std::uint64_t record, FetchMemory& memory) const;

  const bool payloads_;
  mutable std::mutex file_mutex_;  ///< one thread takes files in
  mutable std::mutex mutex_;       ///< of all below
  mutable std::deque<Part> parts_;
  mutable std::map<std::uint64_t, std::uint64_t> uses_left_;
  mutable std::map<std::uint64_t, Held> held_;
  /// Released records that are still kept: earlier records replace damaged ones at the end of an epoch. They are those
  /// of the last batch with a good record, and of the batches after it.
  std::vector<std::uint64_t> passed_;
};

/// The dataset at `path`, whether it is there, arriving or streamed.
std::unique_ptr<FieldSource> OpenFields(const std::filesystem::path& path, const BatchOptions& options,
                                        std::vector<WantedField> fields, AccessPattern pattern);

}  // namespace slipway::staging
