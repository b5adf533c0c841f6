// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/unit/source_case.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace stepleak {

void PrintTo(const SourceCase& tried, std::ostream* out) { *out << tried.name; }

SourceFolder::SourceFolder() {
  std::string pattern = testing::TempDir() + "sources_XXXXXX";
  path_ = ::mkdtemp(pattern.data());
}

SourceFolder::~SourceFolder() { std::filesystem::remove_all(path_); }

int line_with(const std::string& source, const std::string& mark) {
  const auto at = source.find(mark);
  if (at == std::string::npos) return 0;
  return 1 + static_cast<int>(std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

Recording recording_of(const SourceCase& tried, const std::string& file) {
  std::string made = tried.is_lambda ? "Test::TestBody()::{lambda()#1}::operator()" : "make";
  constexpr std::string_view kByClass = "// made by ";
  if (const auto at = tried.source.find(kByClass); at != std::string::npos) {
    const auto first = at + kByClass.size();
    const auto name = tried.source.substr(first, tried.source.find('\n', first) - first);
    made = name + "::" + name;
  }
  std::vector<Frame> stack{
      {.file = file, .line = line_with(tried.source, "// made"), .function = made, .owner = FrameOwner::user}};
  if (const auto line = line_with(tried.source, "// macro"); line > 0) {
    stack.push_back({.file = file, .line = line, .function = "Net", .owner = FrameOwner::user});
  }
  if (const auto line = line_with(tried.source, "// call"); line > 0) {
    stack.push_back({.file = file, .line = line, .function = "step", .owner = FrameOwner::user});
  }
  // Who runs the step stands above, and is no part of it.
  stack.push_back({.file = "check.cpp", .line = 1, .function = "stepleak::check"});
  stack.push_back(
      {.file = file, .line = line_with(tried.source, "// test"), .function = "TestBody", .owner = FrameOwner::user});
  Recording recording{.pass = {.type = PassType::record, .first_step = 33, .planned_steps = 18}, .steps = 18};
  recording.stacks.push_back(stack);
  for (std::int64_t step = 33; step < 51; ++step) {
    Survivor survivor{.type = SurvivorType::tensor, .birth_step = step, .has_graph = tried.has_graph};
    survivor.stack = 0;
    recording.survivors.push_back(std::move(survivor));
  }
  return recording;
}

std::string trainer(const std::string& statement, const std::string& more) {
  std::string source = R"(
class Trainer {
 public:
  void step() {
    auto loss = model(batch);  // made
    auto shown = loss * 2;
    losses_.push_back(shown);  // keeps
    @
  }
  @@
 private:
  std::vector<at::Tensor> losses_;
};
)";
  source.replace(source.find("@@"), 2, more);
  return source.replace(source.find('@'), 1, statement);
}

std::string test_with(const std::string& before, const std::string& statements) {
  return "TEST(A, B) {\n" + before + "\nint n = 0;\nEXPECT_NO_GPU_LEAK([&] {  // made\n" + statements + "\n});\n}\n";
}

}  // namespace stepleak
