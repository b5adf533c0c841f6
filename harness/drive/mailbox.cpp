// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/drive/mailbox.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <new>

#include "harness/base/errors.hpp"

namespace stepleak {

struct Mailbox::Shared {
  std::atomic<bool> is_complete{false};
  std::size_t size = 0;

  [[nodiscard]] char* text() { return reinterpret_cast<char*>(this + 1); }
};

Mailbox::Mailbox() : memory_(sizeof(Shared) + kCapacity), shared_(new (memory_.data()) Shared) {}

void Mailbox::put(std::string_view text) {
  if (text.size() > kCapacity) {
    throw failure_error(fmt::format("a record of {} MiB is larger than a worker can hand over", text.size() >> 20),
                        "run fewer steps");
  }
  std::memcpy(shared_->text(), text.data(), text.size());
  shared_->size = text.size();
  shared_->is_complete.store(true, std::memory_order_release);
}

std::optional<std::string> Mailbox::text() const {
  if (!shared_->is_complete.load(std::memory_order_acquire)) return std::nullopt;
  return std::string(shared_->text(), shared_->size);
}

}  // namespace stepleak
