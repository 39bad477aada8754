/// Compares two declarations of a C function.
#pragma once

#include <cstdint>
#include <type_traits>

namespace slipway::test {

/// Whether both are passed in the same way: two pointers, two numbers of one size, or two structs of one size.
template <class One, class Other>
constexpr bool PassedAlike() {
  return sizeof(One) == sizeof(Other) && std::is_pointer_v<One> == std::is_pointer_v<Other> &&
         std::is_class_v<One> == std::is_class_v<Other> &&
         std::is_floating_point_v<One> == std::is_floating_point_v<Other>;
}

/// What stands for an address where the other declaration has a pointer.
enum class Addresses {
  kPointers,
  kPointersOrNumbers  ///< a pointer or a std::uintptr_t: one register for both on x86-64, AArch64, POWER and RISC-V
};

template <class One, class Other, Addresses addresses>
constexpr bool PassedAlikeWith() {
  constexpr bool kIsNumberForPointer = std::is_same_v<One, std::uintptr_t> && std::is_pointer_v<Other>;
  return PassedAlike<One, Other>() || (addresses == Addresses::kPointersOrNumbers && kIsNumberForPointer);
}

template <class One, class Other, Addresses addresses = Addresses::kPointers>
struct SameAbi : std::false_type {};

template <class OneResult, class... Ones, class OtherResult, class... Others, Addresses addresses>
requires(sizeof...(Ones) == sizeof...(Others)) struct SameAbi<OneResult(Ones...), OtherResult(Others...), addresses>
    : std::bool_constant<PassedAlike<OneResult, OtherResult>() && (PassedAlikeWith<Ones, Others, addresses>() && ...)> {
};

/// Of a pointer to a function, and a function.
template <class Pointer, class Function, Addresses addresses = Addresses::kPointers>
inline constexpr bool kIsPointerTo = SameAbi<std::remove_pointer_t<Pointer>, Function, addresses>::value;

}  // namespace slipway::test
