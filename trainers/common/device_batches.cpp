#include "trainers/common/device_batches.h"

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

namespace trainers {
namespace {

// libtorch reaches the streams of a GPU through these guards: nothing here needs the headers of CUDA.
c10::Stream NewStream(at::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

c10::Stream CurrentStream(at::Device device) { return c10::impl::VirtualGuardImpl(device.type()).getStream(device); }

/// The first sentence, without the advice that libtorch adds.
std::string ReasonOf(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  return text.substr(0, std::min({text.size(), text.find('\n'), text.find(". ")}));
}

}  // namespace

Copies::Copies(at::Device device) : stream_(NewStream(device)) {}

Copies::Copy Copies::Begin(const TensorBatch& batch) const {
  const c10::StreamGuard guard(stream_);
  const auto copied = [&](const at::Tensor& tensor) {
    return tensor.to(at::TensorOptions(stream_.device()), /*non_blocking=*/true);
  };
  return {batch, {copied(batch.input), copied(batch.target), batch.records}};
}

TensorBatch Copies::End(Copy& copy) const {
  stream_.synchronize();  // holds this copy alone: the next one is begun after it
  const auto current = CurrentStream(stream_.device());
  // Their memory belongs to the stream of the copies, which would reuse it while the other one still computes.
  copy.to.input.record_stream(current);
  copy.to.target.record_stream(current);
  return std::move(copy.to);
}

std::vector<at::Tensor> PinnedMemory(std::size_t slots, const std::vector<std::size_t>& bytes_of_fields,
                                     std::string_view program) try {
  std::vector<at::Tensor> memory;
  for (const auto bytes : bytes_of_fields) {
    memory.push_back(at::empty({static_cast<std::int64_t>(slots), static_cast<std::int64_t>(bytes)},
                               at::TensorOptions(at::kByte).pinned_memory(true)));
  }
  return memory;
} catch (const c10::Error& error) {
  fmt::print(stderr,
             "{}: warning: batches are copied to the GPU from ordinary memory, which is slower: {}; next: raise "
             "`ulimit -l`, or take a smaller batch_size\n",
             program, ReasonOf(error));
  return {};
}

std::vector<std::vector<std::span<std::byte>>> SlotsOf(const std::vector<at::Tensor>& memory) {
  std::vector<std::vector<std::span<std::byte>>> slots;
  if (memory.empty()) return slots;
  slots.resize(static_cast<std::size_t>(memory.front().size(0)));
  for (const auto& field : memory) {
    const auto bytes = static_cast<std::size_t>(field.size(1));
    auto* begin = reinterpret_cast<std::byte*>(field.data_ptr<std::uint8_t>());
    for (std::size_t slot = 0; slot < slots.size(); ++slot) slots[slot].push_back({begin + slot * bytes, bytes});
  }
  return slots;
}

}  // namespace trainers
