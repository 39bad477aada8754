/// Batches as tensors, and how they get to a GPU. Includes libtorch's tensors.
#pragma once

#include <ATen/ATen.h>
#include <c10/core/Stream.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace trainers {

/// On the CPU its tensors point into the reader's memory: valid until the next batch is asked for.
struct TensorBatch {
  at::Tensor input;
  at::Tensor target;
  std::vector<std::uint64_t> records;
};

/// Copies to one GPU, on a stream of its own. See OneAhead. Errors: c10::Error.
class Copies {
 public:
  using Batch = TensorBatch;
  struct Copy {
    TensorBatch from;
    TensorBatch to;
  };

  explicit Copies(at::Device device);

  /// From pinned memory it returns at once, else when the values have left their memory.
  Copy Begin(const TensorBatch& batch) const;
  /// The batch may be used by the calling thread's current stream.
  TensorBatch End(Copy& copy) const;

 private:
  c10::Stream stream_;
};

/// Memory for batches that a GPU copies from by itself: for each field [slots, bytes]. Nothing, after a warning in the
/// name of `program`, where none can be pinned.
std::vector<at::Tensor> PinnedMemory(std::size_t slots, const std::vector<std::size_t>& bytes_of_fields,
                                     std::string_view program);

/// The same, slot by slot, for BatchReader::Open.
std::vector<std::vector<std::span<std::byte>>> SlotsOf(const std::vector<at::Tensor>& memory);

}  // namespace trainers
