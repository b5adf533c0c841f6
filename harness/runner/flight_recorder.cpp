// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/runner/flight_recorder.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <new>

#include "harness/base/errors.hpp"

namespace stepleak {

struct FlightRecorder::Shared {
  std::atomic<std::int64_t> step;
  std::atomic<std::int64_t> row_count;
  std::size_t key_count;
  SeriesKey keys[kMaxKeys];
  std::int64_t rows[kCapacityRows * static_cast<std::int64_t>(kMaxKeys)];
};

FlightRecorder::FlightRecorder() {
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw failure_error("no memory for the flight recorder", "free some memory");
  shared_ = static_cast<Shared*>(memory);  // zeroed by the kernel; all members are trivial
}

FlightRecorder::~FlightRecorder() { ::munmap(shared_, sizeof(Shared)); }

void FlightRecorder::begin(std::span<const SeriesKey> keys) {
  STEPLEAK_EXPECTS(keys.size() <= kMaxKeys);
  std::copy(keys.begin(), keys.end(), shared_->keys);
  shared_->key_count = keys.size();
  shared_->row_count.store(0, std::memory_order_release);
}

void FlightRecorder::begin_step(std::int64_t step) noexcept { shared_->step.store(step, std::memory_order_release); }

void FlightRecorder::add_row(std::span<const std::int64_t> row) noexcept {
  const auto index = shared_->row_count.load(std::memory_order_relaxed);
  if (index >= kCapacityRows) return;
  std::copy(row.begin(), row.end(), shared_->rows + index * static_cast<std::int64_t>(shared_->key_count));
  shared_->row_count.store(index + 1, std::memory_order_release);
}

std::int64_t FlightRecorder::step() const noexcept { return shared_->step.load(std::memory_order_acquire); }

Trace FlightRecorder::to_trace() const {
  const auto count = shared_->row_count.load(std::memory_order_acquire);
  Trace trace(std::vector<SeriesKey>(shared_->keys, shared_->keys + shared_->key_count));
  for (std::int64_t row = 0; row < count; ++row) {
    trace.add_row({shared_->rows + row * static_cast<std::int64_t>(shared_->key_count), shared_->key_count});
  }
  return trace;
}

}  // namespace stepleak
