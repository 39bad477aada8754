/// Compares two declarations of a C function.
#pragma once

#include <type_traits>

namespace slipway::test {

/// Whether both are passed in the same way: two pointers, two numbers of one size, or two structs of one size.
template <class One, class Other>
constexpr bool PassedAlike() {
  return sizeof(One) == sizeof(Other) && std::is_pointer_v<One> == std::is_pointer_v<Other> &&
         std::is_class_v<One> == std::is_class_v<Other> &&
         std::is_floating_point_v<One> == std::is_floating_point_v<Other>;
}

template <class One, class Other>
struct SameAbi : std::false_type {};

template <class OneResult, class... Ones, class OtherResult, class... Others>
requires(sizeof...(Ones) == sizeof...(Others)) struct SameAbi<OneResult(Ones...), OtherResult(Others...)>
    : std::bool_constant<PassedAlike<OneResult, OtherResult>() && (PassedAlike<Ones, Others>() && ...)> {
};

/// Of a pointer to a function, and a function.
template <class Pointer, class Function>
inline constexpr bool kIsPointerTo = SameAbi<std::remove_pointer_t<Pointer>, Function>::value;

}  // namespace slipway::test
