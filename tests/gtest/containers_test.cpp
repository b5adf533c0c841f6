// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// What C++ sources say of containers: bounded ones are clean however long they fill, and a leak beside each is proven
// long before its trend would tell.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stepleak/stepleak.hpp"

namespace stepleak {
namespace {

using Tensors = std::vector<at::Tensor>;

at::Tensor fresh() { return at::rand({16}); }

Result judged(const std::function<void()>& step) {
  return check([&](std::int64_t /*index*/) { step(); }, {.device = "cpu"});
}

#define EXPECT_CLEAN(...)                                                        \
  do {                                                                           \
    const auto result = judged(__VA_ARGS__);                                     \
    EXPECT_EQ(to_string(result.verdict), std::string("clean")) << result.report; \
  } while (false)

// Proven by what keeps it: by its trend it would take 274 steps.
#define EXPECT_PROVEN(by, ...)                                                                        \
  do {                                                                                                \
    const auto result = judged(__VA_ARGS__);                                                          \
    ASSERT_EQ(to_string(result.verdict), std::string("leak")) << result.report;                       \
    EXPECT_LT(result.steps, 110) << result.report;                                                    \
    EXPECT_EQ(result.findings.front().holder.substr(0, std::string(by).size()), by) << result.report; \
  } while (false)

class Lru {
 public:
  explicit Lru(std::size_t capacity) : capacity_(capacity) {}
  at::Tensor get(int key) {
    const auto found = index_.find(key);
    if (found != index_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return found->second->second;
    }
    order_.emplace_front(key, fresh());
    index_[key] = order_.begin();
    if (order_.size() > capacity_) {
      index_.erase(order_.back().first);
      order_.pop_back();
    }
    return order_.front().second;
  }

 private:
  std::size_t capacity_;
  std::list<std::pair<int, at::Tensor>> order_;
  std::unordered_map<int, std::list<std::pair<int, at::Tensor>>::iterator> index_;
};

TEST(ContainersTest, LeastRecentlyUsed) {
  Lru cache(400);
  int key = 0;
  EXPECT_CLEAN([&] { cache.get(key++).sum(); });
}

class Replay {
 public:
  explicit Replay(std::size_t capacity) : capacity_(capacity) {}
  void add(at::Tensor state, at::Tensor reward) {
    std::pair<at::Tensor, at::Tensor> transition{std::move(state), std::move(reward)};
    if (storage_.size() < capacity_) {
      storage_.push_back(transition);
    } else {
      storage_[position_] = transition;
    }
    position_ = (position_ + 1) % capacity_;
  }

 private:
  std::size_t capacity_;
  std::size_t position_ = 0;
  std::vector<std::pair<at::Tensor, at::Tensor>> storage_;
};

class History {
 public:
  void add(at::Tensor state, at::Tensor reward) { storage_.emplace_back(std::move(state), std::move(reward)); }
  [[nodiscard]] std::size_t size() const { return storage_.size(); }

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> storage_;
};

TEST(ContainersTest, ReplayOfACapacity) {
  Replay replay(500);
  EXPECT_CLEAN([&] { replay.add(fresh(), fresh().mean()); });
}

TEST(ContainersTest, ReplayWithoutOne) {
  History history;
  EXPECT_PROVEN("History::storage_", [&] {
    history.add(fresh(), fresh().mean());
    if (history.size() % 100 == 0) at::ones({1}).sum();
  });
}

TEST(ContainersTest, RingByItsIndex) {
  Tensors ring(300);
  std::size_t step = 0;
  EXPECT_CLEAN([&] { ring[step++ % ring.size()] = fresh(); });
}

TEST(ContainersTest, MapByACount) {
  std::map<int, at::Tensor> states;
  int step = 0;
  EXPECT_PROVEN("local states", [&] { states[step++] = fresh(); });
}

TEST(ContainersTest, MapByShape) {
  std::map<int, at::Tensor> masks;
  int step = 0;
  EXPECT_CLEAN([&] {
    const int length = 1 + (step++ * 7919) % 300;
    auto found = masks.find(length);
    if (found == masks.end()) found = masks.emplace(length, at::ones({length})).first;
    found->second.sum();
  });
}

class Counted {
 public:
  void add(at::Tensor sample) {
    if (count_ >= 300) return;
    samples_.push_back(std::move(sample));
    ++count_;
  }

 private:
  Tensors samples_;
  int count_ = 0;
};

TEST(ContainersTest, FullByACounter) {
  Counted counted;
  EXPECT_CLEAN([&] { counted.add(fresh()); });
}

struct Episode {
  Tensors states;
};

TEST(ContainersTest, OfAnObjectThatIsReplaced) {
  Episode episode;
  int step = 0;
  EXPECT_CLEAN([&] {
    episode.states.push_back(fresh());
    if (++step % 150 == 0) episode = Episode{};
  });
}

TEST(ContainersTest, OfAnObjectThatStays) {
  Episode episode;
  EXPECT_PROVEN("Episode::states", [&] { episode.states.push_back(fresh()); });
}

class Trimmer {
 public:
  explicit Trimmer(Tensors& list) : list_(list) {}
  void run() {
    if (list_.size() >= 310) list_.clear();
  }

 private:
  Tensors& list_;
};

TEST(ContainersTest, TrimmedThroughAReference) {
  Tensors kept;
  Trimmer trimmer(kept);
  EXPECT_CLEAN([&] {
    kept.push_back(fresh());
    trimmer.run();
  });
}

TEST(ContainersTest, EveryTenth) {
  Tensors kept;
  int step = 0;
  EXPECT_PROVEN("local kept", [&] {
    auto made = fresh();
    if (step++ % 10 == 0) kept.push_back(made);
  });
}

TEST(ContainersTest, StateThatIsDetachedNowAndThen) {
  const auto weights = at::rand({8, 8}).requires_grad_(true);
  at::Tensor hidden = at::zeros({1, 8});
  int step = 0;
  EXPECT_CLEAN([&] {
    hidden = hidden.matmul(weights).tanh();
    if (++step % 75 == 0) hidden = hidden.detach();
  });
}

TEST(ContainersTest, StateThatKeepsItsGraph) {
  const auto weights = at::rand({8, 8}).requires_grad_(true);
  at::Tensor hidden = at::zeros({1, 8});
  EXPECT_PROVEN("local hidden", [&] { hidden = hidden.matmul(weights).tanh(); });
}

TEST(ContainersTest, TextsOnTheHeap) {
  std::vector<std::string> lines;
  int step = 0;
  EXPECT_PROVEN("local lines", [&] {
    fresh().sum();
    lines.push_back("step " + std::to_string(step++) + std::string(1500, '.'));
  });
}

}  // namespace
}  // namespace stepleak
