// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <string_view>
#include <vector>

namespace stepleak {

/// Names of operators, each kept once and as long as the table: an operator's own copy dies with it.
///
/// A process may make up names without end (a custom operator a step, a scripted function a shape). After kMostNames,
/// which is more than twice what torch registers itself, any further one is kOtherName; a name longer than
/// kLongestName is cut. So the table takes 2 MiB at most.
///
/// Any thread may call kept() at any time, also in a child that was forked meanwhile: there is no lock.
class NameTable {
 public:
  static constexpr std::size_t kMostNames = 8192;
  static constexpr std::size_t kLongestName = 128;
  static constexpr const char* kOtherName = "(one of very many operators)";

  NameTable() = default;
  NameTable(const NameTable&) = delete;
  NameTable& operator=(const NameTable&) = delete;
  ~NameTable();

  [[nodiscard]] const char* kept(std::string_view name);

 private:
  // Half full at most, so that a search ends soon; a name never moves and is never removed.
  static constexpr std::size_t kSlots = 2 * kMostNames;

  std::vector<std::atomic<const char*>> slots_{kSlots};
  std::atomic<std::size_t> size_{0};
};

}  // namespace stepleak
