// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/drive/mailbox.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstring>
#include <new>

#include "harness/base/errors.hpp"

namespace stepleak {

struct Mailbox::Shared {
  struct Place {
    std::size_t offset = 0;
    std::size_t size = 0;
  };

  std::atomic<std::size_t> count{0};  ///< of texts that are complete
  std::array<Place, 2> places{};

  [[nodiscard]] char* text(std::size_t offset) { return reinterpret_cast<char*>(this + 1) + offset; }
};

Mailbox::Mailbox() : memory_(sizeof(Shared) + kCapacity), shared_(new (memory_.data()) Shared) {}

void Mailbox::put(std::string_view text) {
  const auto count = shared_->count.load(std::memory_order_relaxed);
  const auto offset = count == 0 ? 0 : shared_->places.front().size;
  if (text.size() > kCapacity - offset) {
    throw failure_error(fmt::format("a record of {} MiB is larger than a worker can hand over", text.size() >> 20),
                        "run fewer steps");
  }
  shared_->places.at(count) = {offset, text.size()};
  std::memcpy(shared_->text(offset), text.data(), text.size());
  shared_->count.store(count + 1, std::memory_order_release);
}

std::optional<std::string> Mailbox::text() const {
  const auto count = shared_->count.load(std::memory_order_acquire);
  if (count == 0) return std::nullopt;
  const auto& place = shared_->places.at(count - 1);
  return std::string(shared_->text(place.offset), place.size);
}

}  // namespace stepleak
