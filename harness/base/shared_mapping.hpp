// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace stepleak {

/// Zeroed memory that this process shares with the processes that it forks, or with whoever has its file. Unmapped in
/// its destructor. Pages that are never written cost nothing.
class SharedMapping {
 public:
  static constexpr int kNoFile = -1;

  /// Throws a failure error where there is no memory. A file must be as large.
  explicit SharedMapping(std::size_t size, int file = kNoFile);
  SharedMapping(const SharedMapping&) = delete;
  SharedMapping& operator=(const SharedMapping&) = delete;
  ~SharedMapping();

  /// At its beginning; aligned for any type.
  [[nodiscard]] void* data() const { return data_; }

 private:
  void* data_;
  std::size_t size_;
};

}  // namespace stepleak
