// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "harness/probes/probe.hpp"

namespace stepleak {

class StackTable;

/// CUDA objects outside torch's caching allocator, with the stacks that made them: raw device memory, page-locked
/// memory, streams, events and instantiated graphs, through CUPTI's callbacks of the driver API. Explain pass only:
/// CUPTI 13.0 takes one subscriber a process, and where we subscribe first torch's profiler sees no GPU events later
/// (pytorch#191944). Where another tool has subscribed, nothing is recorded, and gap() names it.
/// CUPTI is loaded at run time; without it gap() says that.
class HandleProbe final : public Probe {
 public:
  explicit HandleProbe(std::shared_ptr<StackTable> stacks);
  ~HandleProbe() override;

  /// Why CUDA objects cannot be watched here; empty where they can. Subscribes for a moment to find out.
  [[nodiscard]] static std::string blocker();

  [[nodiscard]] std::string_view name() const override { return "cuda objects"; }
  /// Known after a record pass; blocker() asks beforehand.
  [[nodiscard]] std::string gap() const override;
  [[nodiscard]] std::vector<SeriesKey> keys() const override { return {}; }
  void read(Moment /*moment*/, std::span<std::int64_t> /*row*/) override {}
  void begin_record(const Pass& pass) override;
  void end_record(Recording& recording) override;

 private:
  std::shared_ptr<StackTable> stacks_;
  std::string blocker_;  // of the last record pass
};

}  // namespace stepleak
