// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "harness/base/shared_mapping.hpp"

namespace stepleak {

/// Folders that a worker, or a process of its, would remove at its exit, in memory that its server shares. Where they
/// are killed before, the server does it.
class Litter {
 public:
  /// Beyond so many bytes of paths no more are kept.
  static constexpr std::size_t kCapacity = std::size_t{64} << 10;

  Litter();

  /// From any process and thread.
  void add(std::string_view folder) noexcept;
  /// Once all these processes are gone. Never through a link, nor what another user owns.
  void remove() const;

 private:
  struct Shared;

  SharedMapping memory_;
  Shared* shared_;
};

}  // namespace stepleak
