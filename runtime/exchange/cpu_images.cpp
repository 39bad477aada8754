#include "runtime/exchange/cpu_images.h"

#include "runtime/exchange/device_images.h"
#include "runtime/exchange/shares.h"

namespace slipway::runtime {

TensorInfo FlatTensor(const char* name, const void* data, std::int64_t count, slipway_dtype dtype) {
  return {name, dtype, {count}, const_cast<void*>(data)};
}

CpuImages::CpuImages(std::span<const TensorInfo> tensors, ImageUse use, const ImageOrder& order,
                     const ImageTools& tools)
    : given_(tensors.begin(), tensors.end()), images_(given_), use_(use), order_(order), waiter_(tools.waiter) {
  const auto place = PlaceOf(tensors);
  if (!place) {
    for (const auto& tensor : tensors) AwaitManaged(tensor.data, order.stream, waiter_);
    return;
  }
  RequireNotCaptured(*place, order.stream);
  beside_.emplace(place->driver);
  bench_.emplace(tools.benches, *place, BytesOfImages(tensors), BenchStart::kCpu);
  PlaceImages(*place->driver, images_, (*bench_)->memory.data());
  const InContext here(*place);
  AwaitPoint((*bench_)->done, waiter_);  // an earlier operation still reads the memory
  (*bench_)->made.Record(order.stream);
  // The program may still use what is to be written.
  if (use != ImageUse::kRead) (*bench_)->made.HoldBack((*bench_)->to_device.handle());
  if (use == ImageUse::kWrite) return;
  (*bench_)->made.HoldBack((*bench_)->to_cpu.handle());
  for (std::size_t i = 0; i < given_.size(); ++i) {
    if (given_[i].bytes() > 0) (*bench_)->to_cpu.CopyToCpu(images_[i].data, given_[i].data, given_[i].bytes());
  }
  auto& copied = (*bench_)->arrived.front();
  copied.Record((*bench_)->to_cpu.handle());
  AwaitPoint(copied, waiter_);
}

void CpuImages::Return() {
  if (!bench_ || use_ == ImageUse::kRead) return;
  const InContext here((*bench_)->place);
  for (std::size_t i = 0; i < given_.size(); ++i) {
    if (given_[i].bytes() > 0) (*bench_)->to_device.CopyToDevice(given_[i].data, images_[i].data, given_[i].bytes());
  }
  (*bench_)->done.Record((*bench_)->to_device.handle());
  if (order_.result == ResultAt::kStream) {
    (*bench_)->done.HoldBack(order_.stream);
    return AwaitUnlessKept(*bench_, waiter_);
  }
  AwaitPoint((*bench_)->done, waiter_);
}

}  // namespace slipway::runtime
