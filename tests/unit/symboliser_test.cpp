// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/explain/symboliser.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "harness/base/source_root.hpp"

namespace stepleak {
namespace {

// Built twice: as part of the unit tests, and as a program at a fixed address.
#ifdef __PIE__
constexpr bool kIsPositionIndependent = true;
#else
constexpr bool kIsPositionIndependent = false;
#endif

[[gnu::noinline]] const void* return_address() {
  const void* address = __builtin_return_address(0);
  // Without this the call would be the caller's jump.
  asm volatile("" : "+r"(address));
  return address;
}

[[noreturn, gnu::noinline]] void throw_return_address() { throw static_cast<const void*>(__builtin_return_address(0)); }

[[gnu::noinline]] void ends_with_a_call() { throw_return_address(); }

struct Call {
  const void* address;
  int line;
};

[[gnu::noinline]] Call call_of_this_line() {
  const void* address = return_address();
  return {address, __LINE__ - 1};
}

/// Another folder as the only one on the PATH.
class PathOf {
 public:
  explicit PathOf(const std::filesystem::path& folder) : before_(std::getenv("PATH")) {
    ::setenv("PATH", folder.c_str(), 1);
  }
  PathOf(const PathOf&) = delete;
  PathOf& operator=(const PathOf&) = delete;
  ~PathOf() { ::setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_;
};

class SymboliserTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write_addr2line(const std::string& script) const {
    const auto file = folder_ / "addr2line";
    std::ofstream(file) << "#!/bin/sh\n" << script << '\n';
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("stepleak_symboliser_test_" + std::to_string(::getpid()));
};

TEST_F(SymboliserTest, NamesTheLineOfACall) {
  const auto call = call_of_this_line();
  const auto symbolised = symbolise_addresses({call.address});
  EXPECT_TRUE(symbolised.notes.empty()) << symbolised.notes.front();
  ASSERT_TRUE(symbolised.frames.contains(call.address));
  const auto& frame = symbolised.frames.at(call.address).front();
  EXPECT_TRUE(frame.function.ends_with("call_of_this_line")) << frame.function;
  EXPECT_EQ(frame.file, STEPLEAK_SOURCE_ROOT "/tests/unit/symboliser_test.cpp");
  EXPECT_EQ(frame.line, call.line);
}

TEST_F(SymboliserTest, IsTestedInProgramsOfBothKinds) {
  const bool is_at_its_own_address = _r_debug.r_map->l_addr == 0;
  EXPECT_EQ(is_at_its_own_address, !kIsPositionIndependent);
}

TEST_F(SymboliserTest, NamesTheCallerWhoseLastInstructionIsTheCall) {
  const void* address = nullptr;
  try {
    ends_with_a_call();
  } catch (const void* thrown) {
    address = thrown;
  }
  const auto symbolised = symbolise_addresses({address});
  ASSERT_TRUE(symbolised.frames.contains(address));
  EXPECT_TRUE(symbolised.frames.at(address).front().function.ends_with("ends_with_a_call"));
}

TEST_F(SymboliserTest, NamesThousandsOfAddresses) {
  const auto call = call_of_this_line();
  // As text they are more than one argument of a program may have.
  std::vector<const void*> addresses;
  for (int i = 0; i < 20'000; ++i) addresses.push_back(static_cast<const char*>(call.address) - 10'000 + i);
  const auto symbolised = symbolise_addresses(addresses);
  EXPECT_TRUE(symbolised.notes.empty()) << symbolised.notes.front();
  EXPECT_EQ(symbolised.frames.size(), addresses.size());
  EXPECT_EQ(symbolised.frames.at(call.address).front().line, call.line);
}

TEST_F(SymboliserTest, SaysThatAddr2lineIsMissing) {
  const auto call = call_of_this_line();
  const PathOf path(folder());
  const auto symbolised = symbolise_addresses({call.address});
  EXPECT_TRUE(symbolised.frames.empty());
  ASSERT_EQ(symbolised.notes.size(), 1U);
  EXPECT_TRUE(symbolised.notes[0].starts_with("addr2line named 0 of 1 places of ")) << symbolised.notes[0];
  EXPECT_NE(symbolised.notes[0].find("it does not start"), std::string::npos) << symbolised.notes[0];
}

TEST_F(SymboliserTest, SaysThatAddr2lineFailed) {
  write_addr2line("echo out of memory >&2; exit 3");
  const auto call = call_of_this_line();
  const PathOf path(folder());
  const auto symbolised = symbolise_addresses({call.address});
  ASSERT_EQ(symbolised.notes.size(), 1U);
  EXPECT_TRUE(symbolised.notes[0].ends_with("exit code 3: out of memory")) << symbolised.notes[0];
}

TEST_F(SymboliserTest, KeepsWhatWasNamedBeforeAddr2lineStopped) {
  write_addr2line("read -r address; echo $address; echo step; echo train.cpp:7");
  const auto call = call_of_this_line();
  const PathOf path(folder());
  const auto symbolised = symbolise_addresses({call.address, static_cast<const char*>(call.address) + 1});
  ASSERT_EQ(symbolised.notes.size(), 1U);
  EXPECT_TRUE(symbolised.notes[0].starts_with("addr2line named 1 of 2 places of ")) << symbolised.notes[0];
  EXPECT_TRUE(symbolised.notes[0].ends_with("it stopped early")) << symbolised.notes[0];
  ASSERT_EQ(symbolised.frames.size(), 1U);
  EXPECT_EQ(symbolised.frames.at(call.address).front(), (Frame{"train.cpp", 7, "step"}));
}

TEST_F(SymboliserTest, DoesNotNeedAddr2lineForTheSystemsObjects) {
  const PathOf path(folder());
  // Asked by name: a program at a fixed address has a stub of its own for it.
  const auto symbolised = symbolise_addresses({::dlsym(RTLD_DEFAULT, "getpid")});
  EXPECT_TRUE(symbolised.frames.empty());
  EXPECT_TRUE(symbolised.notes.empty()) << symbolised.notes.front();
}

struct Demangled {
  const char* text;
  const char* name;
};

class FunctionNameTest : public ::testing::TestWithParam<Demangled> {};

TEST_P(FunctionNameTest, IsWithoutParametersAndReturnType) {
  EXPECT_EQ(function_name(GetParam().text), GetParam().name);
}

INSTANTIATE_TEST_SUITE_P(
    Symboliser, FunctionNameTest,
    ::testing::Values(Demangled{"main", "main"}, Demangled{"??", "??"},
                      Demangled{"scenarios::(anonymous namespace)::Trainer::step(int)", "scenarios::Trainer::step"},
                      Demangled{"void (anonymous namespace)::Trainer<float>::step<int>(int) const",
                                "Trainer<float>::step<int>"},
                      Demangled{"std::_Function_handler<void (), main::{lambda()#1}>::_M_invoke(std::_Any_data const&)",
                                "std::_Function_handler<void (), main::{lambda()#1}>::_M_invoke"},
                      Demangled{"main::{lambda(int, long)#2}::operator()(int, long) const",
                                "main::{lambda(int, long)#2}::operator()"},
                      Demangled{"bool operator< <int>(Box<int> const&, Box<int> const&)", "operator< <int>"},
                      Demangled{"Handle::operator bool() const", "Handle::operator bool"}));

}  // namespace
}  // namespace stepleak
