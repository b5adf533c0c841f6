// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/observe/flight_recorder.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "harness/base/memory_file.hpp"

namespace stepleak {
namespace {

/// Ten ledgers a device, and the host's.
std::vector<SeriesKey> keys_of(int devices) {
  std::vector<SeriesKey> keys{{Counter::live_bytes}, {Counter::heap_bytes}};
  for (std::int16_t index = 0; index < devices; ++index) {
    for (int counter = 0; counter < 10; ++counter) {
      keys.push_back({static_cast<Counter>(counter), {DeviceType::cuda, index}});
    }
  }
  return keys;
}

/// A row in which each value names its place.
std::vector<std::int64_t> row_of(std::size_t keys, std::int64_t index) {
  std::vector<std::int64_t> row;
  for (std::size_t key = 0; key < keys; ++key) row.push_back(index * 100'000 + static_cast<std::int64_t>(key));
  return row;
}

void add_rows(FlightRecorder& recorder, std::size_t keys, std::int64_t rows) {
  for (std::int64_t index = 0; index < rows; ++index) recorder.add_row(row_of(keys, index));
}

void expect_rows(const Trace& trace, const std::vector<SeriesKey>& keys, std::int64_t rows) {
  ASSERT_EQ(trace.ledgers().size(), keys.size());
  ASSERT_EQ(trace.step_count(), rows);
  for (std::size_t key = 0; key < keys.size(); ++key) {
    const auto values = trace.series(keys[key]);
    for (const auto index : {std::int64_t{0}, rows / 2, rows - 1}) {
      ASSERT_EQ(values[static_cast<std::size_t>(index)], index * 100'000 + static_cast<std::int64_t>(key));
    }
  }
}

TEST(FlightRecorderTest, KeepsTheLedgersOfSixteenDevices) {
  const auto keys = keys_of(16);
  FlightRecorder recorder;
  recorder.begin(keys);
  EXPECT_EQ(recorder.capacity_rows(), FlightRecorder::kCapacityRows);
  add_rows(recorder, keys.size(), 100);
  expect_rows(recorder.to_trace(), keys, 100);
}

TEST(FlightRecorderTest, IsReadByWhoeverHasItsFile) {
  const auto keys = keys_of(1);
  const MemoryFile file("recorder");
  const FlightRecorder reader(file.descriptor());
  {
    FlightRecorder writer(file.descriptor());
    writer.begin(keys);
    writer.begin_step(7);
    add_rows(writer, keys.size(), 6);
  }
  EXPECT_EQ(reader.step(), 7);
  expect_rows(reader.to_trace(), keys, 6);
  EXPECT_EQ(FlightRecorder().to_trace().step_count(), 0);
}

TEST(FlightRecorderTest, KeepsFewerRowsOfMoreLedgersThanAnyMachineHas) {
  const auto keys = keys_of(500);
  FlightRecorder recorder;
  recorder.begin(keys);
  const auto capacity = recorder.capacity_rows();
  EXPECT_LT(capacity, FlightRecorder::kCapacityRows);
  EXPECT_GT(capacity, 3000);
  add_rows(recorder, keys.size(), capacity);
  expect_rows(recorder.to_trace(), keys, capacity);
}

TEST(FlightRecorderTest, CountsButDoesNotKeepRowsBeyondItsCapacity) {
  const auto keys = keys_of(0);
  FlightRecorder recorder;
  recorder.begin(keys);
  add_rows(recorder, keys.size(), FlightRecorder::kCapacityRows + 7);
  EXPECT_EQ(recorder.row_count(), FlightRecorder::kCapacityRows + 7);
  expect_rows(recorder.to_trace(), keys, FlightRecorder::kCapacityRows);
}

TEST(FlightRecorderTest, KeepsWhatADeadWriterWrote) {
  const auto keys = keys_of(16);
  FlightRecorder recorder;
  const auto child = ::fork();
  if (child == 0) {
    recorder.begin(keys);
    add_rows(recorder, keys.size(), 20);
    recorder.begin_step(21);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(recorder.step(), 21);
  expect_rows(recorder.to_trace(), keys, 20);
}

TEST(FlightRecorderTest, IsEmptyBeforeARunBegins) {
  const FlightRecorder recorder;
  EXPECT_EQ(recorder.step(), 0);
  EXPECT_EQ(recorder.to_trace().step_count(), 0);
}

TEST(FlightRecorderTest, ForgetsAnEarlierRunOfOtherLedgers) {
  FlightRecorder recorder;
  recorder.begin(keys_of(16));
  add_rows(recorder, keys_of(16).size(), 30);
  recorder.begin(keys_of(1));
  add_rows(recorder, keys_of(1).size(), 3);
  expect_rows(recorder.to_trace(), keys_of(1), 3);
}

TEST(FlightRecorderTest, KeepsWhatWasNotReadApart) {
  FlightRecorder recorder;
  recorder.begin(keys_of(0));
  recorder.add_row(std::vector<std::int64_t>{kUnread, -1});
  const auto trace = recorder.to_trace();
  EXPECT_TRUE(trace.ledger({Counter::live_bytes})->values().empty());
  EXPECT_EQ(trace.ledger({Counter::heap_bytes})->values().front(), -1);
}

}  // namespace
}  // namespace stepleak
