// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/loading_mark.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

namespace stepleak {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

struct LoadingMark::Shared {
  std::atomic<Clock::rep> since{0};  // 0: no file
  std::size_t size = 0;
  char file[kCapacity];
};

LoadingMark::LoadingMark() : memory_(sizeof(Shared)), shared_(new (memory_.data()) Shared) {}

void LoadingMark::set(std::string_view file) noexcept {
  shared_->size = std::min(file.size(), kCapacity);
  std::memcpy(shared_->file, file.data(), shared_->size);
  shared_->since = file.empty() ? 0 : Clock::now().time_since_epoch().count();
}

std::string LoadingMark::file() const { return {shared_->file, shared_->size}; }

Clock::time_point LoadingMark::since() const noexcept {
  const auto since = shared_->since.load();
  return since == 0 ? Clock::now() : Clock::time_point(Clock::duration(since));
}

}  // namespace stepleak
