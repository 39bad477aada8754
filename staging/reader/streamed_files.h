/// The files of a stream: each is there for a while, and comes back when it is used again.
#pragma once

#include <map>
#include <mutex>

#include "staging/dataset/record_index.h"
#include "staging/dataset/stream_state.h"
#include "staging/reader/file_supply.h"

namespace slipway::staging {

/// Stands for one reader: it must Pass() files in order, or the stream waits for it.
class StreamedFiles final : public FileSupply {
 public:
  /// Errors: Error(kEnvironment): no stream, or more readers than it has places for; Error(kUsage): another seed.
  StreamedFiles(std::filesystem::path directory, std::uint64_t seed);

  const Listing& listing() const override { return listing_; }
  DatasetFile Take(std::uint64_t epoch, std::size_t place, const SupplyWait& wait) override;
  void Pass(std::uint64_t epoch, std::size_t place) override;

 private:
  void Await(std::size_t file, const SupplyWait& wait) const;
  void CheckStream(const std::string& what, bool look) const;
  DatasetFile Place(std::size_t file);
  std::uint64_t UseAt(std::uint64_t epoch, std::size_t place) const;

  const std::filesystem::path directory_;
  StreamState state_;
  Listing listing_;
  std::size_t slot_ = 0;
  std::mutex mutex_;
  std::map<std::size_t, RecordIndex> indices_;
};

}  // namespace slipway::staging
