#include "runtime/exchange/cpu_images.h"

#include "runtime/exchange/device_images.h"
#include "runtime/exchange/shares.h"

namespace slipway::runtime {

TensorInfo FlatTensor(const char* name, const void* data, std::int64_t count, slipway_dtype dtype) {
  return {name, dtype, {count}, const_cast<void*>(data)};
}

namespace {

/// Copies what has elements, of each pair in the order of the tensors. After an error, the bench can be used again.
template <class Copy>
void CopyEach(std::span<const TensorInfo> given, std::span<const TensorInfo> images, Workbench& bench,
              StreamHandle program, Copy copy) {
  try {
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i].bytes() > 0) copy(given[i], images[i]);
    }
  } catch (const DeviceError&) {
    bench.EndEarly(program);
    throw;
  }
}

}  // namespace

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
  if (use == ImageUse::kWrite) {  // the program may still use what is to be written
    (*bench_)->made.HoldBack((*bench_)->to_device.handle());
    return;
  }
  (*bench_)->made.HoldBack((*bench_)->to_cpu.handle());
  CopyEach(given_, images_, **bench_, order_.stream, [this](const TensorInfo& given, const TensorInfo& image) {
    (*bench_)->to_cpu.CopyToCpu(image.data, given.data, given.bytes());
  });
  auto& copied = (*bench_)->arrived.front();
  copied.Record((*bench_)->to_cpu.handle());
  AwaitPoint(copied, waiter_);
}

void CpuImages::Return() {
  if (!bench_ || use_ == ImageUse::kRead) return;
  const InContext here((*bench_)->place);
  CopyEach(given_, images_, **bench_, order_.stream, [this](const TensorInfo& given, const TensorInfo& image) {
    (*bench_)->to_device.CopyToDevice(given.data, image.data, given.bytes());
  });
  (*bench_)->done.Record((*bench_)->to_device.handle());
  if (order_.result == ResultAt::kStream) {
    (*bench_)->done.HoldBack(order_.stream);
    return AwaitUnlessKept(*bench_, waiter_);
  }
  AwaitPoint((*bench_)->done, waiter_);
}

}  // namespace slipway::runtime
