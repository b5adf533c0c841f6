// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/sources/cpp_container.hpp"

namespace stepleak {

/// What a container's type says of how much it can hold.
enum class CppCapacity : std::uint8_t {
  growing,  ///< of the standard library and of torch: as much as is put into it
  fixed,    ///< of a size of its own: std::array, std::inplace_vector, Boost's circular_buffer and static_vector
  unknown,  ///< a class that is not known
};

/// Asks the type that a container is declared with, what that is another name of (`using`, `typedef`), or, where it is
/// `auto`, what it is initialised with. Where one of the things in it is meant, the type of these, here and below.
[[nodiscard]] CppCapacity capacity_of(const CppContainer& container, const CppProject& project);
/// What a name stands for: "std :: vector < at :: Tensor >" of "using Tensors = std::vector<at::Tensor>;", and of
/// "typedef std::vector<at::Tensor> Tensors;". Empty where it is no other name.
[[nodiscard]] std::string meaning_of(std::string_view name, const CppProject& project);
/// A map or a set: it is filled once a key.
[[nodiscard]] bool is_associative(const CppContainer& container, const CppProject& project);
/// A number, or a container of numbers alone, by its declared type.
[[nodiscard]] bool holds_numbers(const CppContainer& container);
/// Whether its items are numbers, enumerators, or arrays and structs of such: none has memory of its own, so that one
/// in the place of another needs none. What is not known may have some.
[[nodiscard]] bool holds_plain_items(const CppContainer& container, const CppProject& project);
/// A std::stringstream or std::ostringstream, or a pointer to one.
[[nodiscard]] bool is_memory_stream(const CppContainer& container, const CppProject& project);
/// A vector, an array or a deque: an index replaces what is there.
[[nodiscard]] bool is_sequence(const CppContainer& container, const CppProject& project);

}  // namespace stepleak
