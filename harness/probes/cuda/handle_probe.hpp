// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "harness/probes/probe.hpp"

namespace stepleak {

class StackTable;

/// CUDA objects outside torch's caching allocators (raw device memory, streams, events, graphs, modules, textures and
/// what else watched_calls() lists), through CUPTI's callbacks of the driver API: how many more there are than when
/// counting began, a few steps before the first verdict; and, in a record pass, the stacks that made them.
///
/// CUPTI 13.0 takes one subscriber a process, and where we subscribe first torch's profiler sees no GPU events later
/// (pytorch#191944): so it is asked late. Where another tool has subscribed, nothing is counted, and gap() names it.
/// CUPTI is loaded at run time; without it gap() says that.
class HandleProbe final : public Probe {
 public:
  /// Counts from `first_counted` on, or from an earlier record pass.
  HandleProbe(std::shared_ptr<StackTable> stacks, std::size_t device_count, std::int64_t first_counted);
  ~HandleProbe() override;

  /// Why CUDA objects cannot be watched here; empty where they can. Subscribes for a moment to find out.
  [[nodiscard]] static std::string blocker();

  [[nodiscard]] std::string_view name() const override { return "cuda objects"; }
  /// Known once counting has begun; blocker() asks beforehand.
  [[nodiscard]] std::string gap() const override;
  [[nodiscard]] std::vector<SeriesKey> keys() const override;
  void begin_step(std::int64_t step) override;
  void read(Moment moment, std::span<std::int64_t> row) override;
  void begin_record(const Pass& pass) override;
  void end_record(Recording& recording) override;
  void stop() noexcept override;

 private:
  void begin_counting();

  std::shared_ptr<StackTable> stacks_;
  std::size_t device_count_;
  std::int64_t first_counted_;
  bool is_begun_ = false;
  std::string blocker_;
};

}  // namespace stepleak
