// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "harness/base/shared_mapping.hpp"

namespace stepleak {

/// Which scenario file a worker loads, in memory that its server shares: known also where the file ends the worker.
class LoadingMark {
 public:
  /// Of a path; the system takes no longer one.
  static constexpr std::size_t kCapacity = 4096;

  LoadingMark();

  /// From the worker; empty: none is being loaded.
  void set(std::string_view file) noexcept;
  /// After the worker's end.
  [[nodiscard]] std::string file() const;
  /// Since when it is being loaded; now where none is.
  [[nodiscard]] std::chrono::steady_clock::time_point since() const noexcept;

 private:
  struct Shared;

  SharedMapping memory_;
  Shared* shared_;
};

}  // namespace stepleak
