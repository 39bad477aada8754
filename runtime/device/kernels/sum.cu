// Sums over the ranks of a node, in the memory of their GPUs. scripts/build_gpu_kernels makes sum.ptx of this file.
//
// Elements are added in the order of the ranks, 16-bit floats in float32 and rounded once: the bits of the processor's
// kernels (runtime/reduction/kernels.cpp), but for the payload of a NaN.

struct Bfloat16 {
  unsigned short bits;
  __device__ operator float() const { return __uint_as_float(static_cast<unsigned>(bits) << 16); }
  __device__ static Bfloat16 Round(float value) {
    const unsigned wide = __float_as_uint(value);
    const unsigned rounded = (wide + 0x7fffu + ((wide >> 16) & 1u)) >> 16;
    const bool nan = (wide & 0x7fffffffu) > 0x7f800000u;
    return {static_cast<unsigned short>(nan ? (wide >> 16) | 0x40u : rounded)};
  }
};

struct Float16 {
  unsigned short bits;
  __device__ operator float() const {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
  }
  __device__ static Float16 Round(float value) {
    Float16 result;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
    return result;
  }
};

struct Float32 {
  float value;
  __device__ operator float() const { return value; }
  __device__ static Float32 Round(float wide) { return {wide}; }
};

struct Float64 {
  double value;
  __device__ operator double() const { return value; }
  __device__ static Float64 Round(double wide) { return {wide}; }
};

template <class Number>
struct Sixteen {
  static constexpr int kCount = 16 / sizeof(Number);
  union {
    uint4 all;
    Number each[kCount];
  };
};

using Address = unsigned long long;

/// One element of all ranks.
template <class Number, class Wide>
__device__ void SumOne(const Address* at, int ranks, Address i, Wide factor) {
  Wide sum = reinterpret_cast<const Number*>(at[0])[i];
#pragma unroll 1
  for (int rank = 1; rank < ranks; ++rank) sum += static_cast<Wide>(reinterpret_cast<const Number*>(at[rank])[i]);
  const Number result = Number::Round(sum * factor);
#pragma unroll 1
  for (int rank = 0; rank < ranks; ++rank) reinterpret_cast<Number*>(at[rank])[i] = result;
}

/// 16 bytes of all ranks.
template <class Number, class Wide>
__device__ void SumSixteen(const Address* at, int ranks, Address i, Wide factor) {
  using Block = Sixteen<Number>;
  Wide sum[Block::kCount];
  Block block;
  block.all = reinterpret_cast<const uint4*>(at[0])[i];
  for (int k = 0; k < Block::kCount; ++k) sum[k] = block.each[k];
#pragma unroll 1
  for (int rank = 1; rank < ranks; ++rank) {
    block.all = reinterpret_cast<const uint4*>(at[rank])[i];
    for (int k = 0; k < Block::kCount; ++k) sum[k] += static_cast<Wide>(block.each[k]);
  }
  for (int k = 0; k < Block::kCount; ++k) block.each[k] = Number::Round(sum[k] * factor);
#pragma unroll 1
  for (int rank = 0; rank < ranks; ++rank) reinterpret_cast<uint4*>(at[rank])[i] = block.all;
}

/// `table`: for each part its elements, and its address on each rank. A row of blocks (y) does one part.
template <class Number, class Wide>
__device__ void Sum(const Address* table, int ranks, Wide factor) {
  const Address* part = table + static_cast<Address>(blockIdx.y) * (ranks + 1);
  const Address count = part[0];
  const Address* at = part + 1;
  const Address first = static_cast<Address>(blockIdx.x) * blockDim.x + threadIdx.x;
  const Address threads = static_cast<Address>(gridDim.x) * blockDim.x;
  Address unaligned = 0;
#pragma unroll 1
  for (int rank = 0; rank < ranks; ++rank) unaligned |= at[rank] & 15;
  Address done = 0;
  if (unaligned == 0) {
    const Address blocks = count / Sixteen<Number>::kCount;
    for (Address i = first; i < blocks; i += threads) SumSixteen<Number, Wide>(at, ranks, i, factor);
    done = blocks * Sixteen<Number>::kCount;
  }
  for (Address i = done + first; i < count; i += threads) SumOne<Number, Wide>(at, ranks, i, factor);
}

extern "C" __global__ void slipway_sum_float32(const Address* table, int ranks, float factor, double) {
  Sum<Float32, float>(table, ranks, factor);
}
extern "C" __global__ void slipway_sum_float64(const Address* table, int ranks, float, double factor) {
  Sum<Float64, double>(table, ranks, factor);
}
extern "C" __global__ void slipway_sum_float16(const Address* table, int ranks, float factor, double) {
  Sum<Float16, float>(table, ranks, factor);
}
extern "C" __global__ void slipway_sum_bfloat16(const Address* table, int ranks, float factor, double) {
  Sum<Bfloat16, float>(table, ranks, factor);
}
