// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/allocation_hooks.hpp"

#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "harness/probes/allocation_sites.hpp"
#include "harness/probes/fork_guard.hpp"
#include "harness/probes/loaded_library.hpp"

namespace stepleak {
namespace {

// Of this thread alone: gtest and the sanitizers have others. Volatile, since the compiler knows that malloc reads no
// variable of ours.
thread_local volatile bool is_noting = false;
constexpr std::size_t kMost = 64;
std::size_t made_count = 0;
std::size_t freed_count = 0;
void* made[kMost];
std::size_t made_bytes[kMost];
void* freed[kMost];

constexpr AllocationListener kListener{
    .on_made =
        [](void* block, std::size_t bytes, const void* caller) noexcept {
          if (!is_noting || made_count == kMost) return;
          made_bytes[made_count] = caller == nullptr ? 0 : bytes;
          made[made_count++] = block;
        },
    .on_freed =
        [](void* block) noexcept {
          if (is_noting && freed_count < kMost) freed[freed_count++] = block;
        },
};

class AllocationHooksTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "libc allocates for a thread before ThreadSanitizer knows it: no instrumented code may run there";
#endif
    made_count = freed_count = 0;
    start_observing_here();
    hook_allocations(kListener);
  }
  void TearDown() override {
    unhook_allocations();
    stop_observing_here();
  }

  template <typename Work>
  static void note(const Work& work) {
    is_noting = true;
    work();
    is_noting = false;
  }
};

// What the compiler must not remove.
void* volatile kept = nullptr;

void allocate_and_free() {
  kept = std::malloc(11);
  std::free(kept);
}

TEST_F(AllocationHooksTest, TellsEachWayToAllocateOnceAndItsFree) {
  note([] {
    kept = std::malloc(11);
    kept = std::realloc(kept, 20000);
    std::free(kept);
    kept = std::calloc(3, 7);
    std::free(kept);
    kept = ::operator new(23);
    ::operator delete(kept);
    kept = new char[29];
    delete[] static_cast<char*>(kept);
    kept = std::aligned_alloc(64, 128);
    std::free(kept);
  });
  EXPECT_EQ(std::vector<std::size_t>(made_bytes, made_bytes + made_count),
            (std::vector<std::size_t>{11, 20000, 21, 23, 29, 128}));
  EXPECT_EQ(std::vector<void*>(made, made + made_count), std::vector<void*>(freed, freed + freed_count));
}

TEST_F(AllocationHooksTest, TellsWritableMappings) {
  note([] {
    kept = ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ::munmap(kept, 8192);
    kept = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  });
  ASSERT_EQ(made_count, 1U);
  EXPECT_EQ(made_bytes[0], 8192U);
  ASSERT_EQ(freed_count, 1U);
  EXPECT_EQ(made[0], freed[0]);
  ::munmap(kept, 4096);
}

TEST_F(AllocationHooksTest, TellsWhatTheCLibraryAllocatesForAnother) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer has a strdup of its own";
#endif
  note([] {
    kept = ::strdup("twelve bytes");
    std::free(kept);
  });
  ASSERT_EQ(made_count, 1U);
  EXPECT_EQ(made_bytes[0], 13U);
  EXPECT_EQ(freed_count, 1U);
}

TEST_F(AllocationHooksTest, TellsWhatALibraryAllocatesForAnother) {
  note([] {
    std::ostringstream text;
    text << std::string(200, 'x') << std::string(3000, 'y');
    kept = new std::string(text.str());
    delete static_cast<std::string*>(kept);
  });
  EXPECT_GE(made_count, 4U);
  std::map<void*, int> balance;
  for (std::size_t i = 0; i < made_count; ++i) ++balance[made[i]];
  for (std::size_t i = 0; i < freed_count; ++i) --balance[freed[i]];
  for (const auto& [block, count] : balance) EXPECT_EQ(count, 0) << block;
}

TEST_F(AllocationHooksTest, TellsNothingAfterItsEndAndNothingWhereNoRunObserves) {
  stop_observing_here();
  note(allocate_and_free);
  EXPECT_EQ(made_count, 0U);
  start_observing_here();
  unhook_allocations();
  note(allocate_and_free);
  EXPECT_EQ(made_count, 0U);
  hook_allocations(kListener);
  note(allocate_and_free);
  EXPECT_EQ(made_count, 1U);
}

TEST_F(AllocationHooksTest, BearsThreadsThatAllocateWhileItComesAndGoes) {
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    while (!is_over) {
      auto text = std::make_unique<std::string>(300, 'x');
      std::free(std::malloc(text->size()));
    }
  });
  for (int i = 0; i < 50; ++i) {
    unhook_allocations();
    hook_allocations(kListener);
  }
  is_over = true;
  other.join();
}

TEST(AllocationSitesTest, TellsCallersAndSizesApart) {
  auto sites = std::make_unique<AllocationSites>();
  int one = 0;
  int other = 0;
  const auto first = sites->visit(&one, 40);
  EXPECT_EQ(sites->visit(&one, 40).site, first.site);
  EXPECT_EQ(sites->visit(&one, 40).ordinal, first.ordinal + 2);
  EXPECT_NE(sites->visit(&one, 48).site, first.site);
  EXPECT_NE(sites->visit(&other, 40).site, first.site);
  // Of large blocks the sizes vary with the data.
  EXPECT_EQ(sites->visit(&one, 70000).site, sites->visit(&one, 80000).site);
}

TEST(AllocationSitesTest, KnowTheirCallersUntilTheyAreForgotten) {
  auto sites = std::make_unique<AllocationSites>();
  int one = 0;
  const auto site = sites->visit(&one, 40).site;
  EXPECT_EQ(sites->caller_of(site), &one);
  EXPECT_EQ(sites->caller_of(0), nullptr);
  sites->restart();
  EXPECT_EQ(sites->caller_of(site), nullptr);
}

TEST(LoadedLibraryTest, IsTheOneThatTheCodeIsOf) {
  // One that no sanitizer puts itself before.
  EXPECT_TRUE(library_of(reinterpret_cast<const void*>(&::gnu_get_libc_version)).starts_with("libc.so."));
  EXPECT_EQ(library_of(reinterpret_cast<const void*>(&library_of)), "unit_tests");
  EXPECT_EQ(library_of(nullptr), "");
  const auto made_at_run_time = std::make_unique<int>();
  EXPECT_EQ(library_of(made_at_run_time.get()), "");
}

constexpr int kCaller = 0;

// Of a busy step: which of its allocations are worth a stack.
std::vector<std::uint32_t> wanted_of(AllocationSites& sites, std::int64_t step) {
  std::vector<std::uint32_t> wanted;
  sites.begin_step();
  for (int i = 0; i < 6400; ++i) {
    const auto visit = sites.visit(&kCaller, 40);
    if (sites.is_stack_wanted(visit, step)) wanted.push_back(visit.ordinal);
  }
  return wanted;
}

TEST(AllocationSitesTest, WantsNoStackBeforeSomethingStayed) {
  auto sites = std::make_unique<AllocationSites>();
  EXPECT_TRUE(wanted_of(*sites, 1).empty());
  sites->suspect({sites->visit(&kCaller, 40).site, 5000});
  EXPECT_FALSE(wanted_of(*sites, 2).empty());
  sites->restart();
  EXPECT_TRUE(wanted_of(*sites, 3).empty());
}

TEST(AllocationSitesTest, WantsWhatComesWhereOneStayedAndAFewOthers) {
  auto sites = std::make_unique<AllocationSites>();
  (void)wanted_of(*sites, 1);
  sites->suspect({sites->visit(&kCaller, 40).site, 5003});
  (void)wanted_of(*sites, 2);
  const auto wanted = wanted_of(*sites, 3);
  EXPECT_NE(std::find(wanted.begin(), wanted.end(), 5003U), wanted.end());
  EXPECT_NE(std::find(wanted.begin(), wanted.end(), 5005U), wanted.end());
  EXPECT_EQ(std::find(wanted.begin(), wanted.end(), 4990U), wanted.end());
  EXPECT_LE(wanted.size(), 64U + 9U);
  // Others in each step.
  EXPECT_NE(wanted_of(*sites, 4).front(), wanted.front());
}

}  // namespace
}  // namespace stepleak
