/// One node's part in copying a dataset around the ring.
///
/// Every chunk is read by one node and passed on to the last node that lacks it. A node keeps what it needs, and may
/// hold kWindow chunks of other nodes. The number of a reader's own chunks in flight is limited: those of all readers
/// together are fewer than the nodes can hold. So there is always a node with a free chunk, and the ring cannot lock
/// up.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "staging/copy/copier.h"
#include "staging/network/assembly.h"
#include "staging/network/read_ahead.h"
#include "staging/network/ring.h"

namespace slipway::staging {

inline constexpr std::size_t kWindow = 16;

class RingCopy : public ChunkHandler {
 public:
  /// `readers` are the nodes that read, this one from `source` if it is among them.
  RingCopy(const StagingPlan& plan, const NodeGroup& group, const StageOptions& options, Ring& ring,
           std::vector<bool> lacks, const std::vector<std::uint32_t>& readers, std::unique_ptr<SourceReader> source);
  /// Ends the ring.
  ~RingCopy() override;

  /// Begins to read and to pass on.
  void Start();
  /// For a node that lacks the data: the copier's work, until this node's copy is complete. Files that an interrupted
  /// run left (CopyOptions::kept) are overwritten.
  std::vector<CopiedFile> Assemble(const std::filesystem::path& directory, const CopyOptions& copy,
                                   const StageOptions& options);
  Bytes bytes_read() const;

  ChunkPtr TakeMemory() override;
  void OnChunk(ChunkPtr chunk) override;
  void OnTaken() override;
  ChunkPtr NextOwn() override;
  std::string Overdue(SteadyTime now) override;

 private:
  /// What is known of a node that reads.
  struct Reader {
    std::vector<Part> chunks;
    std::size_t arrived = 0;  ///< chunks that have arrived here
    bool goes_on = false;     ///< a node after this one lacks them
    bool ends_here = false;   ///< this node is the last that lacks them
  };

  void PrepareReaders(const std::vector<std::uint32_t>& readers, const std::vector<bool>& lacks);
  std::uint32_t After(std::uint32_t node) const;
  std::string Unfit(const Reader& reader, const Chunk& chunk) const;
  void OnOwn(ChunkPtr chunk);
  ChunkPtr NextToWrite(const StageOptions& options);

  const StagingPlan& plan_;
  const NodeGroup& group_;
  Ring& ring_;
  const bool lacks_;
  const Bytes bandwidth_;
  std::vector<Reader> readers_;  ///< by node; no chunks: does not read
  std::size_t window_ = 0;       ///< own chunks under way
  std::unique_ptr<SourceReader> source_;
  std::shared_ptr<ChunkPool> memory_;

  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<ChunkPtr> to_write_;
  std::deque<ChunkPtr> to_send_;
  std::size_t under_way_ = 0;
  SteadyTime write_began_{};  ///< of the chunk that is being written; none: the epoch
  std::unique_ptr<ReadAhead> reading_;
};

}  // namespace slipway::staging
