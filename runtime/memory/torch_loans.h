/// Memory that PyTorch makes tensors in, although it is not PyTorch's.
#pragma once

#include <cstddef>

namespace slipway::runtime {

/// Lends torch a block: a tensor of exactly `bytes` bytes may be made in it, by a thread that does SetLending(kOn).
/// When that tensor is gone, the block waits for the next one. Until it is taken back, the block must stay.
///
/// libc10.so gets memory of tensors from posix_memalign, and gives it to free. Its calls of these two are redirected
/// here, which gives out blocks, knows them by their addresses, and hands everything else on. A child made by fork()
/// gets no block, and gives none back; what else it frees goes to free.
///
/// False: there is no libc10.so whose calls can be redirected. Any thread, as all functions here.
bool LendToTorch(char* block, std::size_t bytes);

/// False: a tensor lies in it. True also for a block that is not lent.
bool TakeBackFromTorch(const char* block);

enum class Lending : bool { kOff, kOn };
/// For the calling thread, whether new tensors may be made in blocks.
void SetLending(Lending lending);

}  // namespace slipway::runtime
