// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

// A run over more devices than any machine here has.

#include <gtest/gtest.h>

#include <algorithm>

#include "harness/drive/repeat.hpp"
#include "harness/observe/flight_recorder.hpp"

namespace stepleak {
namespace {

constexpr std::int64_t kBlockBytes = 512;

/// The ledgers of sixteen GPUs, of which one keeps a block a step.
class ManyDevicesProbe final : public Probe {
 public:
  static constexpr std::int16_t kDevices = 16;
  static constexpr std::int16_t kLeaking = 11;
  static constexpr std::size_t kLedgers = 10;

  [[nodiscard]] std::string_view name() const override { return "many devices"; }
  [[nodiscard]] std::vector<SeriesKey> keys() const override {
    std::vector<SeriesKey> keys;
    for (std::int16_t index = 0; index < kDevices; ++index) {
      const Device device{DeviceType::cuda, index};
      keys.push_back({Counter::live_bytes, device});
      keys.push_back({Counter::live_blocks, device});
      keys.push_back({Counter::live_bytes, device, Moment::before_collection});
      for (const auto counter :
           {Counter::peak_bytes, Counter::active_bytes, Counter::reserved_bytes, Counter::segment_count,
            Counter::largest_free_block_bytes, Counter::inactive_split_bytes, Counter::private_pool_bytes}) {
        keys.push_back({counter, device});
      }
    }
    return keys;
  }
  void begin_step(std::int64_t step) override { step_ = step; }
  void read(Moment /*moment*/, std::span<std::int64_t> row) override {
    std::fill(row.begin(), row.end(), 1000);
    const auto columns = row.subspan(kLeaking * kLedgers, kLedgers);
    columns[0] = columns[2] = kBlockBytes * step_;
    columns[1] = step_;
  }

 private:
  std::int64_t step_ = 0;
};

TEST(ManyDevicesTest, FindsTheLeakOnOneOfSixteenDevicesAndRecordsThemAll) {
  ManyDevicesProbe devices;
  FlightRecorder recorder;
  Session session(
      {.target = "step", .device = {DeviceType::cuda, 0}, .observer = {.probes = {&devices}, .recorder = &recorder}});
  const auto result = conclude(repeat([](std::int64_t) {}, session), {});
  EXPECT_EQ(result.verdict, Verdict::leak);
  const auto recorded = recorder.to_trace();
  EXPECT_EQ(recorded.ledgers().size(), devices.keys().size());
  EXPECT_EQ(recorded.step_count(), result.trace.step_count());
  for (const auto& key : devices.keys()) EXPECT_EQ(recorded.series(key), result.trace.series(key)) << to_string(key);
  const SeriesKey leaking{Counter::live_bytes, {DeviceType::cuda, ManyDevicesProbe::kLeaking}};
  EXPECT_EQ(recorded.series(leaking).back(), kBlockBytes * recorded.step_count());
}

}  // namespace
}  // namespace stepleak
