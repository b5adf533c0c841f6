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
/// a step could close, or open anew as a file of its own. Written by the worker alone, and read after its end: what it
/// put last, to its end.
class Mailbox {
 public:
  /// Pages that are never written cost nothing.
  static constexpr std::size_t kCapacity = std::size_t{256} << 20;

  /// Throws a failure error where there is no memory.
  Mailbox();

  /// Twice at most. Throws a failure error where all of it is larger than kCapacity; what was put before stays.
  void put(std::string_view text);
  /// Nothing where nothing was put.
  [[nodiscard]] std::optional<std::string> text() const;

 private:
  struct Shared;

  SharedMapping memory_;
  Shared* shared_;
};

}  // namespace stepleak
