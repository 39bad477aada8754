/// A message between a rank and a server: one block that says what it is, then a shard's elements.
///
/// Made of blocks, because MPI counts with ints: in bytes that would end at 2 GiB, in blocks at 2 TiB.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime/group/communicator.h"

namespace slipway::runtime {

struct alignas(64) Block {
  char bytes[1024];
};

/// What a rank asks of a server.
struct Request {
  enum class Kind : std::int32_t { kPush, kPull };
  Kind kind = Kind::kPush;
  double rate = 0;
};

/// What a server answers.
struct Answer {
  std::int32_t status = SLIPWAY_OK;
  std::int64_t lead = 0;  ///< steps that the rank is ahead of the slowest
  char message[960] = {};
};
static_assert(sizeof(Answer) <= sizeof(Block) && sizeof(Request) <= sizeof(Block));

class Frame {
 public:
  explicit Frame(std::size_t bytes) : blocks_(1 + (bytes + sizeof(Block) - 1) / sizeof(Block)) {}

  Block* blocks() { return blocks_.data(); }
  int count() const { return static_cast<int>(blocks_.size()); }
  char* elements() { return reinterpret_cast<char*>(blocks_.data() + 1); }

  template <class Head>
  Head Read() const {
    Head head;
    std::memcpy(static_cast<void*>(&head), blocks_.data(), sizeof head);
    return head;
  }
  template <class Head>
  void Write(const Head& head) {
    std::memcpy(blocks_.data(), &head, sizeof head);
  }

 private:
  std::vector<Block> blocks_;
};

/// MPI's name for a Block; none for a lone rank, which may be without MPI.
class BlockType {
 public:
  explicit BlockType(const Communicator& communicator) {
    if (communicator.alone()) return;
    CheckMpi(MPI_Type_contiguous(sizeof(Block), MPI_BYTE, &type_), "MPI_Type_contiguous");
    CheckMpi(MPI_Type_commit(&type_), "MPI_Type_commit");
  }
  BlockType(const BlockType&) = delete;
  BlockType& operator=(const BlockType&) = delete;
  ~BlockType() {
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
  }

  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// The tags of the two directions: a rank is server and client at the same time.
constexpr int kRequestTag = 1;
constexpr int kAnswerTag = 2;

}  // namespace slipway::runtime
