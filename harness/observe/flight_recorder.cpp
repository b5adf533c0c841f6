// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/observe/flight_recorder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <new>
#include <type_traits>

#include "harness/base/errors.hpp"

namespace stepleak {

//   | Shared | key 0 | key 1 | ... | padding | row 0 | row 1 | ...
struct FlightRecorder::Shared {
  std::atomic<std::int64_t> step{0};
  std::atomic<std::int64_t> row_count{0};
  std::atomic<std::size_t> key_count{0};
  std::atomic<std::int64_t> decided_step{0};
  std::atomic<std::int64_t> proof_steps{0};
  std::atomic<std::int64_t> clean_steps{0};
  std::atomic<std::int64_t> leak_steps{0};
  std::atomic<std::int64_t> budget_steps{0};
};

namespace {

// A crash runs no destructor, and two processes share no lock: an atomic must be no more than its value.
static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<std::size_t>::is_always_lock_free);
static_assert(std::is_trivially_copyable_v<SeriesKey> && std::is_trivially_destructible_v<SeriesKey>);

constexpr std::size_t kHeaderBytes = 64;
constexpr std::size_t kMappedBytes =
    kHeaderBytes +
    FlightRecorder::kFullKeys * (sizeof(SeriesKey) + FlightRecorder::kCapacityRows * sizeof(std::int64_t));

// Where the rows begin: behind the keys, at a multiple of a row's alignment.
constexpr std::size_t rows_offset(std::size_t key_count) {
  constexpr auto kAlignment = alignof(std::int64_t);
  return kHeaderBytes + (key_count * sizeof(SeriesKey) + kAlignment - 1) / kAlignment * kAlignment;
}

constexpr std::int64_t rows_that_fit(std::size_t key_count) {
  const auto begin = rows_offset(key_count);
  if (begin >= kMappedBytes) return 0;
  const auto row_bytes = std::max<std::size_t>(key_count, 1) * sizeof(std::int64_t);
  return std::min(FlightRecorder::kCapacityRows, static_cast<std::int64_t>((kMappedBytes - begin) / row_bytes));
}
static_assert(rows_that_fit(FlightRecorder::kFullKeys) == FlightRecorder::kCapacityRows);

int with_room(int memory_file) {
  if (::ftruncate(memory_file, kMappedBytes) == 0) return memory_file;
  if (errno == EFBIG) {
    throw failure_error("no file may be as large as the flight recorder, which is one in memory",
                        fmt::format("ulimit -f {} at least", kMappedBytes / 1024 + 1));
  }
  throw failure_error("no memory for the flight recorder", "free some memory");
}

}  // namespace

FlightRecorder::FlightRecorder() : memory_(kMappedBytes), shared_(new (memory_.data()) Shared) {
  static_assert(sizeof(Shared) <= kHeaderBytes);
}

FlightRecorder::FlightRecorder(int memory_file)
    : memory_(kMappedBytes, with_room(memory_file)), shared_(new (memory_.data()) Shared) {}

SeriesKey* FlightRecorder::keys() const noexcept {
  return reinterpret_cast<SeriesKey*>(reinterpret_cast<std::byte*>(shared_) + kHeaderBytes);
}

std::int64_t* FlightRecorder::row(std::int64_t index) const noexcept {
  const auto key_count = shared_->key_count.load(std::memory_order_relaxed);
  auto* rows = reinterpret_cast<std::int64_t*>(reinterpret_cast<std::byte*>(shared_) + rows_offset(key_count));
  return rows + index * static_cast<std::int64_t>(key_count);
}

void FlightRecorder::begin(std::span<const SeriesKey> keys) {
  STEPLEAK_EXPECTS(rows_that_fit(keys.size()) > 0);
  // Whoever reads after a crash in the middle of this finds no rows, or no keys.
  shared_->row_count.store(0, std::memory_order_release);
  shared_->decided_step.store(0, std::memory_order_release);
  shared_->key_count.store(0, std::memory_order_release);
  std::uninitialized_copy(keys.begin(), keys.end(), this->keys());
  shared_->key_count.store(keys.size(), std::memory_order_release);
}

void FlightRecorder::begin_step(std::int64_t step) noexcept { shared_->step.store(step, std::memory_order_release); }

void FlightRecorder::add_row(std::span<const std::int64_t> row) noexcept {
  const auto index = shared_->row_count.load(std::memory_order_relaxed);
  if (index < capacity_rows()) std::copy(row.begin(), row.end(), this->row(index));
  shared_->row_count.store(index + 1, std::memory_order_release);
}

std::int64_t FlightRecorder::step() const noexcept { return shared_->step.load(std::memory_order_acquire); }

std::int64_t FlightRecorder::row_count() const noexcept { return shared_->row_count.load(std::memory_order_acquire); }

std::int64_t FlightRecorder::capacity_rows() const noexcept {
  return rows_that_fit(shared_->key_count.load(std::memory_order_relaxed));
}

void FlightRecorder::decide(std::int64_t step, const Policy& policy) noexcept {
  shared_->proof_steps.store(policy.proof_steps, std::memory_order_relaxed);
  shared_->clean_steps.store(policy.clean_steps, std::memory_order_relaxed);
  shared_->leak_steps.store(policy.leak_steps, std::memory_order_relaxed);
  shared_->budget_steps.store(policy.budget_steps, std::memory_order_relaxed);
  shared_->decided_step.store(step, std::memory_order_release);
}

void FlightRecorder::withdraw() noexcept { shared_->decided_step.store(0, std::memory_order_release); }

Policy FlightRecorder::policy() const noexcept {
  if (shared_->decided_step.load(std::memory_order_acquire) == 0) return {};
  return {.proof_steps = shared_->proof_steps.load(std::memory_order_relaxed),
          .clean_steps = shared_->clean_steps.load(std::memory_order_relaxed),
          .leak_steps = shared_->leak_steps.load(std::memory_order_relaxed),
          .budget_steps = shared_->budget_steps.load(std::memory_order_relaxed)};
}

Trace FlightRecorder::to_trace() const {
  const auto count = std::min(row_count(), capacity_rows());
  const auto key_count = shared_->key_count.load(std::memory_order_acquire);
  const auto decided = shared_->decided_step.load(std::memory_order_acquire);
  Trace trace({}, std::vector<SeriesKey>(keys(), keys() + key_count));
  for (std::int64_t index = 0; index < count; ++index) {
    trace.add_boundary({row(index), key_count});
    if (trace.step_count() == decided) trace.add_look({});
  }
  return trace;
}

}  // namespace stepleak
