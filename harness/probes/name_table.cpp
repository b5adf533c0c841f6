// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/name_table.hpp"

#include <functional>
#include <memory>

namespace stepleak {
namespace {

std::unique_ptr<const char[]> copy_of(std::string_view name) {
  auto copy = std::make_unique<char[]>(name.size() + 1);  // ends in a zero
  name.copy(copy.get(), name.size());
  return copy;
}

}  // namespace

NameTable::~NameTable() {
  for (auto& slot : slots_) delete[] slot.load();
}

const char* NameTable::kept(std::string_view name) {
  name = name.substr(0, kLongestName);
  std::unique_ptr<const char[]> copy;
  for (auto slot = std::hash<std::string_view>()(name) % kSlots;; slot = (slot + 1) % kSlots) {
    const auto* known = slots_[slot].load(std::memory_order_acquire);
    if (known == nullptr) {
      // Threads that come at once may exceed this by a name each.
      if (size_.load(std::memory_order_relaxed) >= kMostNames) return kOtherName;
      if (copy == nullptr) copy = copy_of(name);
      if (slots_[slot].compare_exchange_strong(known, copy.get(), std::memory_order_acq_rel)) {
        size_.fetch_add(1, std::memory_order_relaxed);
        return copy.release();
      }
    }
    if (name == known) return known;
  }
}

}  // namespace stepleak
