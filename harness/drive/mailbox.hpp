// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/shared_mapping.hpp"

namespace stepleak {

/// Where a worker leaves what it returns: memory that it shares with its server. No descriptor stands for it, which
/// a step could close, or open anew as a file of its own. Written once, by the worker alone; read after its end.
class Mailbox {
 public:
  /// Pages that are never written cost nothing.
  static constexpr std::size_t kCapacity = std::size_t{256} << 20;

  /// Throws a failure error where there is no memory.
  Mailbox();

  /// Throws a failure error where it is larger than kCapacity.
  void put(std::string_view text);
  /// Nothing where nothing was put, or not to its end.
  [[nodiscard]] std::optional<std::string> text() const;

 private:
  struct Shared;

  SharedMapping memory_;
  Shared* shared_;
};

}  // namespace stepleak
