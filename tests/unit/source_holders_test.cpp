// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/base/files.hpp"
#include "harness/sources/cpp_file.hpp"
#include "harness/sources/cpp_project.hpp"
#include "harness/sources/source_holder_search.hpp"
#include "harness/trace/holder_text.hpp"

namespace stepleak {
namespace {

using enum StructureType;

/// What the sources say of one step; the survivor is made at the line marked "// made", by the functions in whose
/// lines "// call" stands, the innermost first.
struct Case {
  std::string name;
  std::string source;
  StructureType type = unknown;
  std::string holder;  ///< empty: none is found
  std::int64_t bound = -1;
  bool is_lambda = false;
};

void PrintTo(const Case& tried, std::ostream* out) { *out << tried.name; }

class Folder {
 public:
  Folder() {
    std::string pattern = testing::TempDir() + "sources_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string path() const { return path_; }

 private:
  std::string path_;
};

int line_with(const std::string& source, const std::string& mark) {
  const auto at = source.find(mark);
  if (at == std::string::npos) return 0;
  return 1 + static_cast<int>(std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

Recording recording_of(const Case& tried, const std::string& file) {
  const std::string made = tried.is_lambda ? "Test::TestBody()::{lambda()#1}::operator()" : "make";
  std::vector<Frame> stack{
      {.file = file, .line = line_with(tried.source, "// made"), .function = made, .owner = FrameOwner::user}};
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
    recording.survivors.push_back({.type = SurvivorType::tensor, .birth_step = step, .stack = 0});
  }
  return recording;
}

class SourceHoldersTest : public testing::TestWithParam<Case> {};

TEST_P(SourceHoldersTest, SaysWhoKeepsItAndWhatBoundsThat) {
  const Folder folder;
  const auto file = folder.path() + "/step.cpp";
  write_file(file, GetParam().source);
  auto recording = recording_of(GetParam(), file);
  SourceHolderSearch().search(recording);
  const auto& survivor = recording.survivors.front();
  if (GetParam().holder.empty()) {
    EXPECT_EQ(survivor.holder, -1);
    return;
  }
  ASSERT_GE(survivor.holder, 0);
  const auto& holder = recording.holders.at(static_cast<std::size_t>(survivor.holder));
  EXPECT_EQ(path_text(recording.objects, holder), GetParam().holder);
  EXPECT_EQ(to_string(holder.structure.type), to_string(GetParam().type)) << holder.structure.text;
  EXPECT_EQ(holder.structure.bound, GetParam().bound);
  EXPECT_EQ(holder.kept_by.line, line_with(GetParam().source, "keeps"));
  EXPECT_EQ(holder.kept_by.calls_a(kGrouping), GetParam().source.find(kGrouping) != std::string::npos);
  EXPECT_EQ(holder.gained_entries, 18);
}

const std::string kTrainer = R"(
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

// A trainer with a statement in its step, and with more of its class.
std::string trainer(const std::string& statement, const std::string& more = "") {
  auto source = kTrainer;
  source.replace(source.find("@@"), 2, more);
  return source.replace(source.find('@'), 1, statement);
}

const std::string kLosses = "Trainer::losses_ (std::vector<at::Tensor>) -> Tensor";

std::string test_with(const std::string& before, const std::string& statements) {
  return "TEST(A, B) {\n" + before + "\nint n = 0;\nEXPECT_NO_GPU_LEAK([&] {  // made\n" + statements + "\n});\n}\n";
}

INSTANTIATE_TEST_SUITE_P(
    OfOneMember, SourceHoldersTest,
    testing::Values(
        Case{"nothing takes out", trainer(""), unbounded, kLosses},
        Case{"read only", trainer("log(at::stack(losses_), losses_.size(), losses_.back());"), unbounded, kLosses},
        Case{"read by known functions", trainer("at::stack(losses_).mean(); for (auto& x : losses_) x.sum();"),
             unbounded, kLosses},
        Case{"trimmed at a constant",
             trainer("if (losses_.size() > kMost) losses_.erase(losses_.begin());",
                     "static constexpr std::size_t kMost = 300;"),
             bounded, kLosses, 300},
        Case{"trimmed at what a constant of another class is",
             trainer("if (losses_.size() > most_) losses_.erase(losses_.begin());", "int most_ = limit();"), bounded,
             kLosses},
        Case{"trimmed elsewhere", trainer("trim();", "void trim() { while (losses_.size() > 7) losses_.pop_back(); }"),
             bounded, kLosses, 7},
        Case{"its length is logged", trainer("if (losses_.size() > 300) std::puts(\"many\");"), unbounded, kLosses},
        Case{"one of them by chance",
             trainer("show_one(losses_[random() % losses_.size()]);") + "void show_one(const at::Tensor& loss) {}",
             unbounded, kLosses},
        Case{"its length is a number modulo another", trainer("const auto id = losses_.size(); show(id % 4096);"),
             unbounded, kLosses},
        Case{"emptied at each multiple of a length", trainer("if (losses_.size() % 64 == 0) losses_.clear();"), bounded,
             kLosses, 64},
        Case{"emptied where no remainder is left", trainer("if (!(losses_.size() % kMost)) losses_.clear();"), bounded,
             kLosses},
        Case{"its length is asserted", trainer("EXPECT_LT(losses_.size(), 300); assert(losses_.size() < 300);"),
             unbounded, kLosses},
        Case{"emptied now and then", trainer("if (++n_ % 50 == 0) losses_.clear();", "int n_ = 0;"), reset, kLosses},
        Case{"replaced now and then", trainer("if (++n_ % 50 == 0) losses_ = {};", "int n_ = 0;"), reset, kLosses},
        Case{"swapped", trainer("if (++n_ % 50 == 0) std::swap(losses_, old_);", "int n_ = 0;"), reset, kLosses},
        Case{"emptied by what no step calls", trainer("", "void reset() { losses_.clear(); }"), uncalled, kLosses},
        Case{"emptied by another object's method of that name",
             trainer("meter_.reset();",
                     "void reset() { losses_.clear(); } struct Meter { void reset() {} }; Meter meter_;"),
             uncalled, kLosses},
        Case{"emptied in an object of another class",
             trainer("report(result_);", "Result result_;") +
                 "struct Result { std::vector<at::Tensor> losses_; };\nvoid report(Result& result) { "
                 "result.losses_.clear(); }",
             unbounded, kLosses},
        Case{"emptied by its constructor", trainer("", "public:\n Trainer() { losses_.clear(); }"), unbounded, kLosses},
        Case{"emptied by its destructor", trainer("", "~Trainer() { losses_.clear(); }"), unbounded, kLosses},
        Case{"one is taken out", trainer("if (n_++ % 2 == 0) losses_.pop_back();", "int n_ = 0;"), conditional,
             kLosses},
        Case{"a reference goes on", trainer("auto& same = losses_; if (same.size() > 9) same.clear();"), bounded,
             kLosses, 9},
        Case{"a constant reference goes on", trainer("const auto& same = losses_; same.size();"), unbounded, kLosses},
        Case{"a function trims it",
             trainer("trim(losses_);") +
                 "void trim(std::vector<at::Tensor>& list) { if (list.size() > 8) list.clear(); }",
             bounded, kLosses, 8},
        Case{"a function reads it", trainer("show(losses_);") + "void show(const std::vector<at::Tensor>& list) {}",
             unbounded, kLosses},
        Case{"a function that is not known gets it", trainer("show(losses_);"), unknown, kLosses},
        Case{"a macro names it", "#define FLUSH() losses_.clear()\n" + trainer("FLUSH();"), unknown, kLosses}));

INSTANTIATE_TEST_SUITE_P(
    OfGuards, SourceHoldersTest,
    testing::Values(
        Case{"until a counter is high",
             test_with("std::vector<at::Tensor> kept;",
                       "auto x = at::rand(4);\nif (++n < 300) kept.push_back(x);  // keeps"),
             conditional, "local kept (std::vector<at::Tensor>) -> Tensor", -1, true},
        Case{"every seventh",
             test_with("std::vector<at::Tensor> kept;",
                       "auto x = at::rand(4);\nif (++n % 7 == 0) kept.push_back(x);  // keeps"),
             unbounded, "local kept (std::vector<at::Tensor>) -> Tensor", -1, true},
        Case{"left early by a counter",
             test_with("std::vector<at::Tensor> kept;",
                       "auto x = at::rand(4);\nif (++n > 300) return;\nkept.push_back(x);  // keeps"),
             conditional, "local kept (std::vector<at::Tensor>) -> Tensor", -1, true},
        Case{"by a flag that nobody changes",
             test_with("std::vector<at::Tensor> kept; const bool on = true;",
                       "auto x = at::rand(4);\nif (on) kept.push_back(x);  // keeps"),
             unbounded, "local kept (std::vector<at::Tensor>) -> Tensor", -1, true},
        Case{"by a flag that the step changes",
             test_with("std::vector<at::Tensor> kept; bool on = true;",
                       "auto x = at::rand(4);\nif (on) kept.push_back(x);  // keeps\nif (++n == 200) on = false;"),
             conditional, "local kept (std::vector<at::Tensor>) -> Tensor", -1, true},
        Case{"once a key",
             test_with(
                 "std::map<int, at::Tensor> kept;",
                 "auto x = at::rand(4);\nconst int key = n++ % 9;\nif (!kept.count(key)) kept[key] = x;  // keeps"),
             keyed, "local kept (std::map<int,at::Tensor>) -> Tensor", -1, true},
        Case{"by a count",
             test_with("std::map<int, at::Tensor> kept;", "auto x = at::rand(4);\nkept[n++] = x;  // keeps"), unbounded,
             "local kept (std::map<int,at::Tensor>) -> Tensor", -1, true}));

INSTANTIATE_TEST_SUITE_P(
    OfTypes, SourceHoldersTest,
    testing::Values(
        Case{"a ring of a fixed size",
             test_with("std::vector<at::Tensor> ring(300);", "ring[n++ % 300] = at::rand(4);  // keeps"), bounded,
             "local ring (std::vector<at::Tensor>) -> Tensor", 300, true},
        Case{"an array", test_with("std::array<at::Tensor, 64> ring;", "ring[n++ % 64] = at::rand(4);  // keeps"),
             bounded, "local ring (std::array<at::Tensor,64>) -> Tensor", 64, true},
        Case{"a library's container",
             test_with("boost::circular_buffer<at::Tensor> ring(50);", "ring.push_back(at::rand(4));  // keeps"),
             bounded, "local ring (boost::circular_buffer<at::Tensor>) -> Tensor", 50, true},
        Case{"a container that is not known",
             test_with("lib::Log<at::Tensor> log;", "log.push_back(at::rand(4));  // keeps"), unknown,
             "local log (lib::Log<at::Tensor>) -> Tensor", -1, true},
        Case{"by another name",
             "using Tensors = std::vector<at::Tensor>;\n" +
                 test_with("Tensors kept;", "kept.push_back(at::rand(4));  // keeps"),
             unbounded, "local kept (Tensors) -> Tensor", -1, true},
        Case{"numbers",
             "struct Log {\n double sum = 0;\n std::map<int, std::vector<float>> scores;\n void step() {\n"
             "  auto loss = at::rand(4).sum();  // made\n  scores[0].push_back(loss.item<float>());\n"
             "  sum = sum + loss.max();\n  sum += loss.sum();\n }\n};\n",
             unknown, ""},
        Case{"pairs of a number and a tensor",
             test_with("std::vector<std::pair<at::Tensor, int>> kept;",
                       "auto x = at::rand(4);\nkept.emplace_back(x, 3);  // keeps"),
             unbounded, "local kept (std::vector<std::pair<at::Tensor,int>>) -> Tensor", -1, true},
        Case{"numbers in memory of their own",
             "struct Log {\n std::vector<float> scores;\n void step(float score) {\n"
             "  scores.push_back(score);  // made, keeps\n }\n};\n",
             unbounded, "Log::scores (std::vector<float>) -> Tensor"},
        Case{"a sum with its graph",
             test_with("auto total = at::zeros({});", "auto loss = f(n);\ntotal = total + loss;  // keeps"), unbounded,
             "local total (auto) -> Tensor", -1, true},
        Case{"a state that is detached",
             test_with("auto hidden = at::zeros({});",
                       "hidden = cell(hidden);  // keeps\nif (++n % 50 == 0) hidden = hidden.detach();"),
             reset, "local hidden (auto) -> Tensor", -1, true},
        Case{"kept in the step only",
             test_with("", "std::vector<at::Tensor> parts;\nparts.push_back(at::rand(4));\nat::stack(parts);"), unknown,
             "", -1, true}));

INSTANTIATE_TEST_SUITE_P(
    OfOwners, SourceHoldersTest,
    testing::Values(
        Case{"the object is replaced",
             "struct Episode {\n std::vector<at::Tensor> states;\n};\nstruct Agent {\n Episode episode;\n int t = 0;\n"
             " void act() {\n  episode.states.push_back(at::rand(4));  // made, keeps\n"
             "  if (++t % 50 == 0) episode = Episode{};\n }\n};\n",
             reset, "Episode::states (std::vector<at::Tensor>) -> Tensor"},
        Case{"one of many objects goes",
             "struct Profile {\n std::vector<at::Tensor> laps;\n};\nstruct Profiler {\n std::deque<Profile> window;\n"
             " void act() {\n  window.push_back({});\n  while (window.size() > 500) window.pop_front();\n"
             "  window.back().laps.push_back(at::rand(4));  // made, keeps\n }\n};\n",
             conditional, "Profile::laps (std::vector<at::Tensor>) -> Tensor"},
        Case{"all of many objects go",
             "struct Profile {\n std::vector<at::Tensor> laps;\n};\nstruct Profiler {\n std::deque<Profile> window;\n"
             " void act() {\n  window.push_back({});\n  if (window.size() > 500) window.clear();\n"
             "  window.back().laps.push_back(at::rand(4));  // made, keeps\n }\n};\n",
             reset, "Profile::laps (std::vector<at::Tensor>) -> Tensor"},
        Case{"the object stays",
             "struct Episode {\n std::vector<at::Tensor> states;\n};\nstruct Agent {\n Episode episode;\n"
             " void act() {\n  episode.states.push_back(at::rand(4));  // made, keeps\n }\n};\n",
             unbounded, "Episode::states (std::vector<at::Tensor>) -> Tensor"},
        Case{"the pointer is reset",
             "struct Log {\n std::vector<at::Tensor> lines;\n};\nTEST(A, B) {\n auto log = std::make_unique<Log>();\n"
             " int n = 0;\n EXPECT_NO_GPU_LEAK([&] {  // made\n  log->lines.push_back(at::rand(4));  // keeps\n"
             "  if (++n % 50 == 0) log = std::make_unique<Log>();\n });\n}\n",
             reset, "Log::lines (std::vector<at::Tensor>) -> Tensor", -1, true},
        Case{"returned to the caller",
             "struct Eval {\n at::Tensor predict() {\n  auto out = net(x);  // made\n  return out.exp();\n }\n"
             " void step() {\n  const auto out = predict();  // call\n  outputs.push_back(out);  // keeps\n }\n"
             " std::vector<at::Tensor> outputs;\n};\n",
             unbounded, "Eval::outputs (std::vector<at::Tensor>) -> Tensor"},
        Case{"handed to a function",
             "struct Bag {\n void put(at::Tensor item) {\n  items_.push_back(std::move(item));  // keeps\n }\n"
             " std::vector<at::Tensor> items_;\n};\nstruct Run {\n Bag bag;\n void step() {\n"
             "  bag.put(at::rand(4));  // made\n }\n};\n",
             unbounded, "Bag::items_ (std::vector<at::Tensor>) -> Tensor"},
        Case{"full by a method",
             "struct Bag {\n bool is_full() const { return items_.size() >= 280; }\n void put(at::Tensor item) {\n"
             "  items_.push_back(std::move(item));  // keeps\n }\n std::vector<at::Tensor> items_;\n};\nstruct Run {\n"
             " Bag bag;\n void step() {\n  if (!bag.is_full()) bag.put(at::rand(4));  // made\n }\n};\n",
             bounded, "Bag::items_ (std::vector<at::Tensor>) -> Tensor", 280},
        Case{"by a capacity that all objects get",
             "struct Ring {\n explicit Ring(std::size_t most) : most_(most) {}\n void put(at::Tensor item) {\n"
             "  if (items_.size() < most_) items_.push_back(item);  // keeps\n }\n std::size_t most_;\n"
             " std::vector<at::Tensor> items_;\n};\nstruct Run {\n Ring ring{600};\n void step() {\n"
             "  ring.put(at::rand(4));  // made\n }\n};\n",
             bounded, "Ring::items_ (std::vector<at::Tensor>) -> Tensor", 600},
        Case{
            "one more where the last is in use",
            "struct Arena {\n void put(at::Tensor item) {\n"
            "  if (next_ == items_.size()) items_.push_back(item);  // keeps\n  ++next_;\n }\n std::size_t next_ = 0;\n"
            " std::vector<at::Tensor> items_;\n};\nstruct Run {\n Arena arena;\n void step() {\n"
            "  arena.put(at::rand(4));  // made\n }\n};\n",
            conditional, "Arena::items_ (std::vector<at::Tensor>) -> Tensor"},
        Case{"none more where it is as long as it may be",
             "struct Ring {\n void put(at::Tensor item) {\n  if (items_.size() == most_) return;\n"
             "  items_.push_back(item);  // keeps\n }\n std::size_t most_ = limit();\n"
             " std::vector<at::Tensor> items_;\n};\nstruct Run {\n Ring ring;\n void step() {\n"
             "  ring.put(at::rand(4));  // made\n }\n};\n",
             bounded, "Ring::items_ (std::vector<at::Tensor>) -> Tensor"},
        Case{"a sibling empties its own",
             "struct Base {\n std::vector<at::Tensor> kept;\n};\nstruct Leaks : Base {\n void step() {\n"
             "  kept.push_back(at::rand(4));  // made, keeps\n }\n};\nstruct Clears : Base {\n void step() {\n"
             "  kept.clear();\n }\n};\n",
             unbounded, "Base::kept (std::vector<at::Tensor>) -> Tensor"},
        Case{"what it holds grows",
             "struct Log {\n std::map<std::string, std::vector<at::Tensor>> lines;\n void step() {\n"
             "  lines[\"loss\"].push_back(at::rand(4));  // made, keeps\n }\n};\n",
             unbounded, "Log::lines (std::map<std::string,std::vector<at::Tensor>>) -> Tensor"},
        Case{"what it holds is emptied",
             "struct Log {\n int n = 0;\n std::map<std::string, std::vector<at::Tensor>> lines;\n void step() {\n"
             "  lines[\"loss\"].push_back(at::rand(4));  // made, keeps\n"
             "  if (++n % 50 == 0) lines[\"loss\"].clear();\n }\n};\n",
             reset, "Log::lines (std::map<std::string,std::vector<at::Tensor>>) -> Tensor"},
        Case{"no source", "", unknown, ""}));

// A log with lists by name; `statement` puts what the step makes into one of them.
std::string log_with(const std::string& statements, const std::string& more = "") {
  return "struct Log {\n int n = 0;\n std::map<std::string, std::vector<at::Tensor>> lines;\n"
         " void step(const std::string& name) {\n  auto x = at::rand(4);  // made\n  " +
         statements + "\n }\n" + more + "};\n";
}

const std::string kLines = "Log::lines (std::map<std::string,std::vector<at::Tensor>>) -> Tensor";

INSTANTIATE_TEST_SUITE_P(
    OfItems, SourceHoldersTest,
    testing::Values(
        Case{"by a reference", log_with("auto& line = lines[name];\n  line.push_back(x);  // keeps"), unbounded,
             kLines},
        Case{"by a reference that trims",
             log_with(
                 "auto& line = lines[name];\n  line.push_back(x);  // keeps\n  if (line.size() > 40) line.clear();"),
             bounded, kLines, 40},
        Case{"the copies are trimmed",
             log_with("lines[name].push_back(x);  // keeps\n"
                      "for (auto [key, line] : lines) { while (line.size() > 40) line.pop_back(); }"),
             unbounded, kLines},
        Case{"the items are trimmed",
             log_with("lines[name].push_back(x);  // keeps\n"
                      "for (auto& [key, line] : lines) { while (line.size() > 40) line.pop_back(); }"),
             bounded, kLines, 40},
        Case{"the entries are trimmed",
             log_with("lines[name].push_back(x);  // keeps\n"
                      "for (auto& entry : lines) { if (++n % 50 == 0) entry.second.clear(); }"),
             reset, kLines},
        Case{"by an iterator", log_with("auto found = lines.find(name);\n  found->second.push_back(x);  // keeps"),
             unbounded, kLines},
        Case{"by an iterator that empties it",
             log_with("auto found = lines.find(name);\n  found->second.push_back(x);  // keeps\n"
                      "  if (++n % 50 == 0) found->second.clear();"),
             reset, kLines},
        Case{"a function empties one",
             log_with("lines[name].push_back(x);  // keeps\n  if (++n % 50 == 0) flush(lines.at(name));",
                      " void flush(std::vector<at::Tensor>& line) { line.clear(); }\n"),
             reset, kLines},
        Case{"a function shows one",
             log_with("lines[name].push_back(x);  // keeps\n  show(lines[name]);",
                      " void show(const std::vector<at::Tensor>& line) {}\n"),
             unbounded, kLines},
        Case{"a function that is not known gets one",
             log_with("lines[name].push_back(x);  // keeps\n  show(lines[name]);"), unknown, kLines},
        Case{"returned by a function",
             log_with("line(name).push_back(x);  // keeps",
                      " std::vector<at::Tensor>& line(const std::string& name) { return "
                      "lines[name]; }\n"),
             unbounded, kLines},
        Case{"a mean is made of its length",
             test_with("std::vector<at::Tensor> seen;",
                       "seen.push_back(at::rand(4));  // keeps\n"
                       "const auto mean = seen.empty() ? 0 : sum / static_cast<double>(seen.size());"),
             unbounded, "local seen (std::vector<at::Tensor>) -> Tensor", -1, true},
        Case{"the newest are told by a cast length",
             test_with("std::vector<at::Tensor> seen;",
                       "const std::size_t first = seen.size();\nseen.push_back(at::rand(4));  // keeps\n"
                       "at::cat(std::vector<at::Tensor>(seen.begin() + static_cast<long>(first), seen.end()));"),
             unbounded, "local seen (std::vector<at::Tensor>) -> Tensor", -1, true},
        Case{"a cast length is compared",
             test_with("std::vector<at::Tensor> seen;",
                       "seen.push_back(at::rand(4));  // keeps\nif (40 < static_cast<std::int64_t>(seen.size())) "
                       "seen.pop_back();"),
             bounded, "local seen (std::vector<at::Tensor>) -> Tensor", 40, true},
        Case{"used again, and never taken out",
             test_with("std::list<at::Tensor> order;\n std::map<int, std::list<at::Tensor>::iterator> index;",
                       "if (const auto found = index.find(n); found != index.end()) "
                       "order.splice(order.begin(), order, found->second);\norder.push_front(at::rand(4));  // keeps"),
             unbounded, "local order (std::list<at::Tensor>) -> Tensor", -1, true},
        Case{"used again, and the oldest goes",
             test_with("std::list<at::Tensor> order;\n std::map<int, std::list<at::Tensor>::iterator> index;",
                       "if (const auto found = index.find(n); found != index.end()) "
                       "order.splice(order.begin(), order, found->second);\norder.push_front(at::rand(4));  // keeps\n"
                       "if (order.size() > 40) order.pop_back();"),
             bounded, "local order (std::list<at::Tensor>) -> Tensor", 40, true},
        Case{"handed over to another list",
             test_with(
                 "std::list<at::Tensor> waiting, done;",
                 "waiting.push_back(at::rand(4));  // keeps\nif (++n % 50 == 0) done.splice(done.end(), waiting);"),
             reset, "local waiting (std::list<at::Tensor>) -> Tensor", -1, true},
        Case{"taken over from a list of the step's own",
             test_with("std::list<at::Tensor> done;",
                       "std::list<at::Tensor> fresh;\nauto x = at::rand(4);\nfresh.push_back(x);\n"
                       "done.splice(done.end(), fresh);  // keeps"),
             unbounded, "local done (std::list<at::Tensor>) -> Tensor", -1, true},
        Case{"of an array",
             test_with("std::array<std::vector<at::Tensor>, 4> lists;",
                       "lists[n++ % 4].push_back(at::rand(4));  // keeps"),
             unbounded, "local lists (std::array<std::vector<at::Tensor>,4>) -> Tensor", -1, true},
        Case{"rings of a fixed size",
             test_with("std::map<int, boost::circular_buffer<at::Tensor>> rings;",
                       "rings[n++ % 4].push_back(at::rand(4));  // keeps"),
             bounded, "local rings (std::map<int,boost::circular_buffer<at::Tensor>>) -> Tensor", -1, true},
        Case{"by a remainder of their number",
             test_with("std::vector<std::vector<at::Tensor>> lists(4);",
                       "auto& list = lists[n++ % lists.size()];\nlist.push_back(at::rand(4));  // keeps"),
             unbounded, "local lists (std::vector<std::vector<at::Tensor>>) -> Tensor", -1, true},
        Case{"one of another by chance",
             test_with("std::vector<std::vector<at::Tensor>> lists(4);",
                       "auto& list = lists[n++ % 4];\nauto x = at::rand(4);\n"
                       "if (!list.empty()) x += list[random() % list.size()];\nlist.push_back(x);  // keeps"),
             unbounded, "local lists (std::vector<std::vector<at::Tensor>>) -> Tensor", -1, true},
        Case{"of the step's own",
             test_with("",
                       "std::vector<std::vector<at::Tensor>> parts;\nparts.emplace_back();\n"
                       "parts.back().push_back(at::rand(4));\nauto& last = parts[0];\nlast.push_back(at::rand(4));"),
             unknown, "", -1, true},
        Case{"of an object of the step's own",
             "struct Batch {\n std::vector<at::Tensor> parts;\n};\n" +
                 test_with("", "Batch batch;\nbatch.parts.push_back(at::rand(4));"),
             unknown, "", -1, true},
        Case{"of a thread",
             "void step() {\n thread_local std::vector<at::Tensor> parts;\n"
             " parts.push_back(at::rand(4));  // made, keeps\n}\n",
             unbounded, "local parts (thread_local std::vector<at::Tensor>) -> Tensor"},
        Case{"of the call",
             "void step() {\n std::vector<at::Tensor> parts;\n parts.push_back(at::rand(4));  // made\n}\n", unknown,
             ""}));

INSTANTIATE_TEST_SUITE_P(
    OfStates, SourceHoldersTest,
    testing::Values(
        Case{"through another variable",
             test_with("auto state = at::zeros({});", "auto [output, next] = cell(x, state);\nstate = next;  // keeps"),
             unbounded, "local state (auto) -> Tensor", -1, true},
        Case{"through two",
             test_with("auto state = at::zeros({});",
                       "auto gates = cell(x, state);\nauto next = gates.tanh();\nstate = next;  // keeps"),
             unbounded, "local state (auto) -> Tensor", -1, true},
        Case{"let go on the way",
             test_with("auto state = at::zeros({});", "auto next = cell(x, state).detach();\nstate = next;"), unknown,
             "", -1, true},
        Case{"let go at last",
             test_with("auto state = at::zeros({});", "auto next = cell(x, state);\nstate = next.detach();"), unknown,
             "", -1, true},
        Case{"let go between",
             test_with("auto state = at::zeros({});",
                       "auto next = cell(x, state);\nif (n++ % 2 == 0) next = next.detach();\nstate = next;"),
             unknown, "", -1, true},
        Case{"without a graph",
             test_with("auto state = at::zeros({});",
                       "at::NoGradGuard no_grad;\nauto next = cell(x, state);\nstate = next;"),
             unknown, "", -1, true},
        Case{"made of something else",
             test_with("auto state = at::zeros({});", "auto next = cell(x, other);\nstate = next;"), unknown, "", -1,
             true},
        Case{"one of several",
             test_with("auto state = at::zeros({});", "std::tie(output, state) = cell(x, state);  // keeps"), unbounded,
             "local state (auto) -> Tensor", -1, true},
        Case{"one of several that is made anew",
             test_with("auto state = at::zeros({});", "std::tie(output, state) = cell(x, other);"), unknown, "", -1,
             true},
        Case{"set by its constructor",
             "struct Scorer {\n at::Tensor state;\n Scorer() { state = at::zeros({}); }\n void step() {\n"
             "  auto next = cell(state);  // made\n  state = next;  // keeps\n }\n};\n",
             unbounded, "Scorer::state (at::Tensor) -> Tensor"},
        Case{"set by another method",
             "struct Scorer {\n at::Tensor state;\n void restart() { state = at::zeros({}); }\n void step() {\n"
             "  auto next = cell(state);  // made\n  state = next;  // keeps\n }\n};\n",
             uncalled, "Scorer::state (at::Tensor) -> Tensor"}));

// A cache of masks; `key`: by what a step asks for one.
std::string masks_by(const std::string& key, const std::string& raise) {
  return "struct Masks {\n std::map<std::pair<int, int>, at::Tensor> masks;\n int position = 0;\n"
         " at::Tensor mask(int length, int offset) {\n  auto& entry = masks[{length, offset}];  // keeps\n"
         "  if (!entry.defined()) entry = at::ones(length);  // made\n  return entry;\n }\n"
         " void step() {\n  const int length = 8 + next() % 4;\n  auto shown = mask(length, " +
         key + ").sum();  // call\n  " + raise + "\n }\n};\n";
}

const std::string kMasks = "Masks::masks (std::map<std::pair<int,int>,at::Tensor>) -> Tensor";

INSTANTIATE_TEST_SUITE_P(
    OfKeys, SourceHoldersTest,
    testing::Values(
        Case{"a position that grows", masks_by("position", "position += length;"), unbounded, kMasks},
        Case{"a position that begins again", masks_by("position", "position += length; if (full()) position = 0;"),
             keyed, kMasks},
        Case{"a remainder of it", masks_by("position % 2", "position += length;"), keyed, kMasks},
        Case{"lengths only", masks_by("length", "position += length;"), keyed, kMasks},
        Case{"a place of the step's own",
             test_with("", "std::map<int, at::Tensor> parts;\nauto& part = parts[n];\npart = at::rand(4);"), unknown,
             "", -1, true},
        Case{"a name with a number",
             test_with("std::map<std::string, at::Tensor> kept;",
                       "auto x = at::rand(4);\nkept.emplace(\"id-\" + std::to_string(n++), x);  // keeps"),
             unbounded, "local kept (std::map<std::string,at::Tensor>) -> Tensor", -1, true},
        Case{"a name with a number that comes again",
             test_with("std::map<std::string, at::Tensor> kept;",
                       "auto x = at::rand(4);\nkept.emplace(\"id-\" + std::to_string(n++ % 96), x);  // keeps"),
             keyed, "local kept (std::map<std::string,at::Tensor>) -> Tensor", -1, true},
        Case{"a number of the step's own",
             test_with("std::map<int, at::Tensor> kept;",
                       "int i = 0;\nfor (auto& x : at::rand(4).split(1)) kept[i++] = x;  // keeps"),
             keyed, "local kept (std::map<int,at::Tensor>) -> Tensor", -1, true},
        Case{"a number that another one has",
             test_with("std::map<int, at::Tensor> kept;", "auto x = at::rand(4);\nkept[m] = x;  // keeps\n++n;"), keyed,
             "local kept (std::map<int,at::Tensor>) -> Tensor", -1, true},
        Case{"once a counter is high",
             test_with("std::vector<at::Tensor> kept;",
                       "auto x = at::rand(4);\nif (++n > 50) kept.push_back(x);  // keeps"),
             unbounded, "local kept (std::vector<at::Tensor>) -> Tensor", -1, true},
        Case{"once a counter is high that goes back",
             test_with("std::vector<at::Tensor> kept;",
                       "auto x = at::rand(4);\nif (++n > 50) kept.push_back(x);  // keeps\nif (n == 60) n = 0;"),
             conditional, "local kept (std::vector<at::Tensor>) -> Tensor", -1, true},
        Case{"not before a counter is high",
             test_with("std::vector<at::Tensor> kept;",
                       "auto x = at::rand(4);\nif (++n < 50) return;\nkept.push_back(x);  // keeps"),
             unbounded, "local kept (std::vector<at::Tensor>) -> Tensor", -1, true}));

// A custom autograd function with a statement before it returns its output.
std::string function_with(const std::string& statement) {
  return "struct Swish : Function<Swish> {\n static at::Tensor forward(AutogradContext* context, at::Tensor x) {\n"
         "  auto output = x * at::sigmoid(x);  // made\n  " +
         statement + "\n  return output;\n }\n};\n";
}

INSTANTIATE_TEST_SUITE_P(
    OfContexts, SourceHoldersTest,
    testing::Values(
        Case{"its own output", function_with("context->saved_data[\"output\"] = output;  // keeps"), unknown,
             "context->saved_data (AutogradContext) -> Tensor"},
        Case{"its input", function_with("context->saved_data[\"x\"] = x;"), unknown, ""},
        Case{"detached", function_with("context->saved_data[\"output\"] = output.detach();"), unknown, ""},
        Case{"something else", function_with("auto gate = output * 2;\n  context->saved_data[\"gate\"] = gate;"),
             unknown, ""},
        Case{"saved for backward", function_with("context->save_for_backward({x, output});"), unknown, ""}));

const std::string kPending = "local pending (std::vector<std::future<at::Tensor>>) -> Tensor";

// A step that hands a task to a pool; `before` and `after` stand around that.
std::string task_with(const std::string& declared, const std::string& before, const std::string& after) {
  return "TEST(A, B) {\n" + declared + "\n auto step = [&] {\n  " + before + "pool.submit([&] {\n" +
         "   return at::rand(4);  // made\n  })" + after + "\n };\n}\n";
}

INSTANTIATE_TEST_SUITE_P(
    OfFutures, SourceHoldersTest,
    testing::Values(
        Case{"kept at once",
             task_with("std::vector<std::future<at::Tensor>> pending;", "pending.push_back(  // keeps\n", ");"),
             unbounded, kPending, -1, true},
        Case{"kept later",
             task_with("std::vector<std::future<at::Tensor>> pending;",
                       "auto future = ", ";\n  pending.push_back(std::move(future));  // keeps"),
             unbounded, kPending, -1, true},
        Case{"waited for", task_with("double sum = 0;", "auto future = ", ";\n  sum += future.get().item();"), unknown,
             "", -1, true},
        Case{"the task itself", task_with("std::vector<std::function<at::Tensor()>> tasks;", "tasks.push_back(", ");"),
             unknown, "", -1, true}));

INSTANTIATE_TEST_SUITE_P(
    OfStreams, SourceHoldersTest,
    testing::Values(
        Case{"saved into one of many",
             test_with("std::map<int, std::unique_ptr<std::stringstream>> saved;",
                       "auto stream = std::make_unique<std::stringstream>();\ntorch::save(model, *stream);\n"
                       "saved[n++] = std::move(stream);  // keeps"),
             unbounded, "local saved (std::map<int,std::unique_ptr<std::stringstream>>) -> Tensor", -1, true},
        Case{
            "saved into a file",
            "struct Saver {\n std::vector<std::ofstream*> files;\n void step() {\n  auto* file = new std::ofstream();\n"
            "  torch::save(model, *file);  // made\n  files.push_back(file);\n }\n};\n",
            unknown, ""},
        Case{
            "a log",
            "struct Log {\n std::ostringstream text;\n void step() {\n  text << at::rand(4);  // made, keeps\n }\n};\n",
            unbounded, "Log::text (std::ostringstream)"},
        Case{"a log that is emptied",
             "struct Log {\n int n = 0;\n std::ostringstream text;\n void step() {\n"
             "  text << at::rand(4);  // made, keeps\n  if (++n % 50 == 0) text.str(\"\");\n }\n};\n",
             reset, "Log::text (std::ostringstream)"},
        Case{"a log whose flags are cleared",
             "struct Log {\n int n = 0;\n std::ostringstream text;\n void step() {\n"
             "  text << at::rand(4);  // made, keeps\n  text.clear(); show(text.str().size());\n }\n};\n",
             unbounded, "Log::text (std::ostringstream)"},
        Case{"a log of the step's own",
             test_with("", "std::ostringstream text;\ntext << at::rand(4);\nshow(text.str());"), unknown, "", -1,
             true}));

// A trainer whose optimizer gets a new head; `before` that, something else happens.
std::string heads_with(const std::string& before, const std::string& type = "torch::optim::Adam") {
  return "struct Trainer {\n int n = 0;\n nn::Linear head;\n " + type +
         " optimizer;\n void step() {\n  for (auto& group : optimizer.param_groups()) group.options().set_lr(0.1);\n "
         " " +
         before +
         "\n  head = nn::Linear(64, 20);  // made\n  head->to(device);\n"
         "  optimizer.add_param_group(OptimizerParamGroup(head->parameters()));  // keeps\n"
         "  optimizer.zero_grad();\n  optimizer.step();\n }\n};\n";
}

const std::string kOptimizer = "Trainer::optimizer (torch::optim::Adam) -> Tensor";

INSTANTIATE_TEST_SUITE_P(
    OfOptimizers, SourceHoldersTest,
    testing::Values(
        Case{"groups stay", heads_with(""), unbounded, kOptimizer},
        Case{"groups are read", heads_with("log(optimizer.param_groups().front().params().size(), optimizer.state());"),
             unbounded, kOptimizer},
        Case{"the last one is taken out", heads_with("if (++n % 7 == 0) optimizer.param_groups().pop_back();"),
             conditional, kOptimizer},
        Case{"more than one is taken out",
             heads_with("if (optimizer.param_groups().size() > 1) optimizer.param_groups().pop_back();"), bounded,
             kOptimizer, 1},
        Case{"all are taken out", heads_with("if (++n % 7 == 0) optimizer.param_groups().clear();"), reset, kOptimizer},
        Case{"one is replaced", heads_with("optimizer.param_groups().front().params() = head->parameters();"),
             conditional, kOptimizer},
        Case{"one is emptied",
             heads_with("for (auto& group : optimizer.param_groups()) { if (++n % 7 == 0) group.params().clear(); }"),
             conditional, kOptimizer},
        Case{"a new optimizer", heads_with("if (++n % 7 == 0) optimizer = torch::optim::Adam(parameters());"), reset,
             kOptimizer},
        Case{"a schedule has it", heads_with("torch::optim::StepLR schedule(optimizer, 30, 0.1);"), unbounded,
             kOptimizer},
        Case{"somebody else has it", heads_with("watch(optimizer);"), unknown, kOptimizer},
        Case{"moved by its module",
             "struct Trainer {\n torch::optim::Adam optimizer;\n void step() {\n"
             "  auto head = make();\n  head->to(device);  // made\n"
             "  optimizer.add_param_group(OptimizerParamGroup(head->parameters()));  // keeps\n }\n};\n",
             unbounded, kOptimizer},
        Case{"another one's parameters",
             "struct Trainer {\n torch::optim::Adam optimizer;\n void step() {\n"
             "  auto head = make();\n  head->to(device);  // made\n"
             "  optimizer.add_param_group(OptimizerParamGroup(other->parameters()));\n }\n};\n",
             unknown, ""}));

// A trainer that lends a function a list to fill; `list`: which.
std::string lending(const std::string& list, const std::string& after) {
  return "void add(std::vector<at::Tensor>& list, at::Tensor x) {\n list.push_back(x);  // keeps\n}\n"
         "struct Trainer {\n int n = 0;\n std::vector<at::Tensor> losses;\n"
         " std::map<int, std::vector<at::Tensor>> by_task;\n void step() {\n  std::vector<at::Tensor> parts;\n"
         "  auto x = at::rand(4);  // made\n  add(" +
         list + ", x);\n  " + after + "\n }\n};\n";
}

INSTANTIATE_TEST_SUITE_P(
    OfLenders, SourceHoldersTest,
    testing::Values(
        Case{"a member", lending("losses", ""), unbounded, "Trainer::losses (std::vector<at::Tensor>) -> Tensor"},
        Case{"a member that is emptied", lending("losses", "if (++n % 50 == 0) losses.clear();"), reset,
             "Trainer::losses (std::vector<at::Tensor>) -> Tensor"},
        Case{"an item", lending("by_task[n % 3]", ""), unbounded,
             "Trainer::by_task (std::map<int,std::vector<at::Tensor>>) -> Tensor"},
        Case{"an item that is emptied", lending("by_task[n % 3]", "if (++n % 50 == 0) by_task[0].clear();"), reset,
             "Trainer::by_task (std::map<int,std::vector<at::Tensor>>) -> Tensor"},
        Case{"one of the step's own", lending("parts", "show(at::stack(parts));"), unknown, ""},
        Case{"one of two", lending("losses", "add(by_task[0], x);"), unknown,
             "local list (std::vector<at::Tensor>&) -> Tensor"},
        Case{"one of the step's own that is kept",
             "void add(std::vector<at::Tensor>& list, at::Tensor x) {\n list.push_back(x);\n}\n"
             "struct Trainer {\n std::vector<std::vector<at::Tensor>> epochs;\n void step() {\n"
             "  std::vector<at::Tensor> parts;\n  add(parts, at::rand(4));  // made\n"
             "  epochs.push_back(std::move(parts));  // keeps\n }\n};\n",
             unbounded, "Trainer::epochs (std::vector<std::vector<at::Tensor>>) -> Tensor"},
        Case{"made where it is filled",
             "void fill(std::vector<at::Tensor>& list) {\n list.push_back(at::rand(4));  // made\n}\n"
             "struct Trainer {\n std::vector<std::vector<at::Tensor>> epochs;\n void step() {\n"
             "  std::vector<at::Tensor> parts;\n  fill(parts);  // call\n"
             "  epochs.push_back(parts);  // keeps\n }\n};\n",
             unbounded, "Trainer::epochs (std::vector<std::vector<at::Tensor>>) -> Tensor"},
        Case{
            "of an object that a watched loop has",
            "struct Loop {\n std::vector<at::Tensor> losses;\n};\nvoid train() {\n Loop loop;\n Watch watch(quick());\n"
            " do {\n  loop.losses.push_back(at::rand(4));  // made, keeps\n } while (watch.step());\n}\n",
            unbounded, "Loop::losses (std::vector<at::Tensor>) -> Tensor"},
        Case{
            "of an object that a loop has which is not watched",
            "struct Loop {\n std::vector<at::Tensor> losses;\n};\nvoid train() {\n Loop loop;\n Watch watch(quick());\n"
            " do {\n  loop.losses.push_back(at::rand(4));  // made\n } while (other.step());\n}\n",
            unknown, ""},
        Case{"of a watched loop without braces",
             "void train() {\n std::vector<at::Tensor> losses;\n Watch watch(quick());\n"
             " do losses.push_back(at::rand(4));  // made, keeps\n while (watch.step());\n}\n",
             unbounded, "local losses (std::vector<at::Tensor>) -> Tensor"},
        Case{
            "emptied through a pointer",
            "struct Trainer {\n int n = 0;\n std::vector<at::Tensor> losses;\n void step() {\n  auto* list = &losses;\n"
            "  losses.push_back(at::rand(4));  // made, keeps\n  if (++n % 50 == 0) (*list).clear();\n }\n};\n",
            reset, "Trainer::losses (std::vector<at::Tensor>) -> Tensor"},
        Case{"one of two by a condition",
             "struct Trainer {\n std::vector<at::Tensor> losses, scores;\n void step(bool on) {\n"
             "  auto& list = on ? losses : scores;\n  losses.push_back(at::rand(4));  // made, keeps\n  "
             "list.clear();\n }\n};\n",
             unknown, "Trainer::losses (std::vector<at::Tensor>) -> Tensor"},
        Case{
            "an item that another takes the place of",
            log_with("lines[name].push_back(x);  // keeps\n  if (++n % 50 == 0) lines.insert_or_assign(name, none());"),
            reset, kLines}));

// `statements` follow one that makes `net`, and one that makes `hidden` of it.
std::string trial_with(const std::string& statements) {
  return "struct Trial {\n at::Tensor weight;\n void step() {\n  auto net = std::make_shared<Net>();  // made\n"
         "  auto hidden = net->run(weight);\n  " +
         statements + "\n }\n};\n";
}

INSTANTIATE_TEST_SUITE_P(
    OfLambdas, SourceHoldersTest,
    testing::Values(
        Case{"a function of its own", trial_with("net->on_run = [net](int) { net->count(); };  // keeps"), unknown,
             "net->on_run (lambda) -> Tensor"},
        Case{"by the name of another variable", trial_with("net->on_run = [own = net] { own->count(); };  // keeps"),
             unknown, "net->on_run (lambda) -> Tensor"},
        Case{"all that it names", trial_with("net->on_run = [=] { net->count(); };  // keeps"), unknown,
             "net->on_run (lambda) -> Tensor"},
        Case{"a hook of its own",
             trial_with("hidden.register_hook([this, hidden](at::Tensor grad) { show(hidden); });  // keeps"), unknown,
             "hidden.register_hook (lambda) -> Tensor"},
        Case{"a hook of what stays",
             trial_with("weight.register_hook([hidden](at::Tensor grad) { return grad * hidden; });  // keeps"),
             unknown, "Trial::weight (at::Tensor) -> Tensor"},
        Case{"of the object that its constructor makes",
             "struct Net : nn::Module {\n Net(int in, int out) : layer(register_module(\"layer\", nn::Linear(in, "
             "out))) {}"
             "  // made\n nn::Linear layer;\n std::function<void()> on_run;\n};\nstruct Trial {\n void step() {\n"
             "  auto net = std::make_shared<Net>(3, 4);  // call\n  net->on_run = [net] { net->layer; };  // keeps\n "
             "}\n};\n",
             unknown, "net->on_run (lambda) -> Tensor"},
        Case{"a reference", trial_with("net->on_run = [&net](int) { net->count(); };"), unknown, ""},
        Case{"all by reference", trial_with("net->on_run = [&] { net->count(); };"), unknown, ""},
        Case{"a weak pointer", trial_with("net->on_run = [weak = std::weak_ptr(net)] { weak.lock(); };"), unknown, ""},
        Case{"a hook that holds numbers",
             trial_with("hidden.register_hook([rows = hidden.size(0)](at::Tensor grad) { return grad / rows; });"),
             unknown, ""},
        Case{"another one's function", trial_with("other.on_run = [this] { count(); };"), unknown, ""}));

// Of the survivor of a step's source beside other files of its folder.
Structure structure_beside(const std::string& source, const std::map<std::string, std::string>& others) {
  const Folder folder;
  const auto file = folder.path() + "/step.cpp";
  write_file(file, source);
  for (const auto& [name, text] : others) write_file(folder.path() + "/" + name, text);
  auto recording = recording_of({.name = "", .source = source}, file);
  SourceHolderSearch().search(recording);
  const auto holder = recording.survivors.front().holder;
  return holder < 0 ? Structure{} : recording.holders.at(static_cast<std::size_t>(holder)).structure;
}

const std::string kTrimmed = trainer("if (losses_.size() > 9) losses_.clear();");

TEST(SourceHoldersTest, KnowsTheClassesOfItsOwnFileFromOthersOfThatName) {
  EXPECT_EQ(structure_beside(trainer(""), {{"another.cpp", kTrimmed}}).type, unbounded);
  EXPECT_EQ(structure_beside(kTrimmed, {{"another.cpp", trainer("")}}).bound, 9);
}

TEST(SourceHoldersTest, ReadsWhatOthersDoWithTheClassOfAHeader) {
  const std::string header = "class Trainer {\n public:\n void step();\n std::vector<at::Tensor> losses_;\n};\n";
  const std::string step =
      "#include \"trainer.hpp\"\nvoid Trainer::step() {\n auto loss = model(batch);  // made\n"
      " losses_.push_back(loss);  // keeps\n trim(*this);\n}\n";
  const std::string trim = "void trim(Trainer& one) { if (one.losses_.size() > 9) one.losses_.clear(); }\n";
  EXPECT_EQ(structure_beside(step, {{"trainer.hpp", header}}).type, unbounded);
  EXPECT_EQ(structure_beside(step, {{"trainer.hpp", header}, {"trim.cpp", "#include \"trainer.hpp\"\n" + trim}}).bound,
            9);
  EXPECT_EQ(structure_beside(step, {{"trainer.hpp", header}, {"trim.cpp", "#include TRAINER\n" + trim}}).bound, 9);
  EXPECT_EQ(structure_beside(step, {{"trainer.hpp", header}, {"trim.cpp", header + trim}}).type, unbounded);
}

// Of a member that several classes of the file have, whose object's type is not known.
TEST(SourceHoldersTest, ReadsNoMemberOfThatNameInAnotherProgram) {
  const std::string beam =
      "struct Node { std::vector<at::Tensor> children; };\nstruct Leaf { std::vector<at::Tensor> children; };\n"
      "void step() {\n auto x = at::rand(4);  // made\n for (auto& node : beam()) node->children.push_back(x);  // "
      "keeps\n"
      "}\n";
  const std::string tree = "void grow(Tree* node) { node->children.resize(4); }\n";
  const std::string declared = "struct Tree { std::vector<at::Tensor> children; };\n";
  EXPECT_EQ(structure_beside(beam, {{"tree.cpp", declared + tree}}).type, unknown);
  // A header that a build puts before each file may declare it.
  EXPECT_NE(structure_beside(beam, {{"tree.cpp", tree}}).type, unknown);
  EXPECT_NE(structure_beside(beam + "void cut(Node* node) { node->children.resize(4); }\n", {}).type, unknown);
}

// The line that keeps graphs which keep themselves, of a step with so many arguments of backward(). Nodes that were
// made in a thread of torch's have no frame of the user's.
int line_making_graphs(const std::string& statement, bool is_in_cycle = true, SurvivorType type = SurvivorType::node) {
  const std::string source = "void step() {\n auto loss = model(x);  // made\n " + statement +
                             "\n}\nvoid other() { x.backward({}, 1, true); }\n";
  const Folder folder;
  const auto file = folder.path() + "/step.cpp";
  write_file(file, source);
  auto recording = recording_of({.name = "", .source = source}, file);
  recording.survivors.push_back({.type = type, .is_in_cycle = is_in_cycle});
  SourceHolderSearch().search(recording);
  const auto holder = recording.survivors.back().holder;
  return holder < 0 ? 0 : recording.holders.at(static_cast<std::size_t>(holder)).kept_by.line;
}

TEST(SourceHoldersTest, NamesTheOnlyCallThatGivesGradientsAGraph) {
  EXPECT_EQ(line_making_graphs("loss.backward({}, std::nullopt, /*create_graph=*/true);"), 3);
  EXPECT_EQ(line_making_graphs("torch::autograd::backward({loss}, {}, true, true);"), 3);
  EXPECT_EQ(line_making_graphs("loss.backward({}, true, true);", true, SurvivorType::tensor), 3);
}

TEST(SourceHoldersTest, NamesNoOtherBackwardPass) {
  EXPECT_EQ(line_making_graphs("loss.backward({}, /*retain_graph=*/true);"), 0);
  EXPECT_EQ(line_making_graphs("loss.backward({}, true, false);"), 0);
  EXPECT_EQ(line_making_graphs("torch::autograd::backward({loss}, {}, true);"), 0);
  EXPECT_EQ(line_making_graphs("loss.backward({}, true, true); b.backward({}, true, true);"), 0);
  EXPECT_EQ(line_making_graphs("loss.backward({}, true, true);", false), 0);
}

// A node of a tree, with what it does with each child.
std::string tree(const std::string& statement) {
  return R"(
class Node : public std::enable_shared_from_this<Node> {
 public:
  void expand(const at::Tensor& state) {
    auto child = std::make_shared<Node>(state * 2);  // made
    )" + statement +
         R"(
  }
  std::shared_ptr<Node> best() const {
    size_t best = 0;
    for (size_t i = 0; i < children_.size(); ++i) {
      const auto& child = *children_[i];
      if (child.mean() > score) best = i;
    }
    return children_[best];
  }
 private:
  at::Tensor state_;
  std::vector<std::shared_ptr<Node>> children_;
};
)";
}

INSTANTIATE_TEST_SUITE_P(
    Caches, SourceHoldersTest,
    testing::Values(Case{"an entry of a class template's list", R"(
template <typename Key, typename Value>
class LruCache {
 public:
  const Value& insert_pinned(const Key& key, Value value) {
    order_.push_front(Entry{key, std::move(value), 1});  // keeps
    index_[key] = order_.begin();
    return order_.front().value;
  }

 private:
  struct Entry {
    Key key;
    Value value;
    int pins;
  };
  std::list<Entry> order_;
  std::unordered_map<Key, typename std::list<Entry>::iterator> index_;
};
class Encoder {
 public:
  torch::Tensor encode(const std::string& text) {
    return projection_->forward(table_->forward(ids(text)));  // made
  }
};
class Service {
 public:
  const torch::Tensor& lookup(const std::string& text) {
    return cache_.insert_pinned(text, encoder_.encode(text));  // call
  }
 private:
  Encoder encoder_;
  LruCache<std::string, torch::Tensor> cache_;
};
)",
                         unbounded, "LruCache::order_ (std::list<Entry>) -> Tensor"},
                    Case{"children that are moved to where they are kept",
                         tree("children_.push_back(std::move(child));  // keeps"), unbounded,
                         "Node::children_ (std::vector<std::shared_ptr<Node>>) -> Tensor"},
                    Case{"a child that is moved away",
                         tree("children_.push_back(child);  // keeps\nauto gone = std::move(child);"), reset,
                         "Node::children_ (std::vector<std::shared_ptr<Node>>) -> Tensor"},
                    Case{"what an algorithm puts behind what is there", R"(
struct Snapshot { int step; std::vector<at::Tensor> weights; };
class Ema {
 public:
  std::vector<at::Tensor> copy() const {
    std::vector<at::Tensor> result;
    std::transform(shadow_.begin(), shadow_.end(), std::back_inserter(result), [](const auto& t) { return t.clone(); });  // made
    return result;
  }
  std::vector<at::Tensor> shadow_;
};
class Trainer {
 public:
  void step() {
    offer({3, ema_.copy()});  // call
  }
  void offer(Snapshot snapshot) {
    pool_.push_back(std::move(snapshot));  // keeps
  }
 private:
  Ema ema_;
  std::vector<Snapshot> pool_;
};
)",
                         unbounded, "Trainer::pool_ (std::vector<Snapshot>) -> Tensor"},
                    Case{"what an algorithm puts into a member", R"(
class Trainer {
 public:
  void step() {
    std::transform(shadow_.begin(), shadow_.end(), std::back_inserter(kept_), [](const auto& t) { return t.clone(); });  // made keeps
  }
 private:
  std::vector<at::Tensor> shadow_;
  std::vector<at::Tensor> kept_;
};
)",
                         unbounded, "Trainer::kept_ (std::vector<at::Tensor>) -> Tensor"}),
    [](const auto& tried) { return std::to_string(tried.index); });

TEST(SourceHoldersTest, LeavesAloneWhatItCannotRead) {
  Recording recording{.steps = 18};
  recording.stacks.push_back({{.file = "/no/such/step.cpp", .line = 3, .function = "step", .owner = FrameOwner::user}});
  recording.survivors.push_back({.type = SurvivorType::tensor, .stack = 0});
  recording.survivors.push_back({.type = SurvivorType::tensor});
  SourceHolderSearch().search(recording);
  EXPECT_TRUE(recording.holders.empty());
}

TEST(SourceHoldersTest, ReadsSourcesThatAreNone) {
  for (const std::string source :
       {"}}}}", "((((", "\"", "R\"x(", "/*", "a[", "#define", "if (", "class {", "auto x = [&] {", "void f( {",
        "::", "x = ", "for (;;", "void A::~A() : b{1}, c(2 {"}) {
    const Folder folder;
    const auto file = folder.path() + "/step.cpp";
    write_file(file, "void step() {\nkept.push_back(x);  // made\n" + source);
    auto recording = recording_of({.name = "", .source = "\n// made"}, file);
    EXPECT_NO_THROW(SourceHolderSearch().search(recording)) << source;
  }
}

TEST(CppFileTest, HasNothingBehindItsEnd) {
  const CppFile file("end.cpp", "int x = 0; class Session");
  const auto end = file.tokens().size();
  for (auto token = end; token < end + 5; ++token) EXPECT_FALSE(file.is_declaration(token)) << token;
  EXPECT_TRUE(file.is_declaration(1));
  EXPECT_EQ(file.extent_of(end - 1).end, end);
}

TEST(CppProjectTest, LeavesOutTheSourcesOfOthers) {
  const Folder folder;
  write_file(folder.path() + "/meson.build", "");
  write_file(folder.path() + "/step.cpp", "int mine;");
  for (const std::string name : {"subprojects", "projects"}) {
    std::filesystem::create_directory(folder.path() + "/" + name);
    write_file(folder.path() + "/" + name + "/other.cpp", "int of_" + name + ";");
  }
  const CppProject project({folder.path() + "/step.cpp"});
  EXPECT_EQ(project.uses("mine").size(), 1U);
  EXPECT_EQ(project.uses("of_projects").size(), 1U);
  EXPECT_TRUE(project.uses("of_subprojects").empty());
}

// Two programs of a folder may each have a class of one name.
TEST(CppProjectTest, LeavesOutWhatOtherProgramsAreCompiledFrom) {
  const Folder folder;
  for (const std::string name : {"step.cpp", "linked.cpp", "other.cpp", "header.hpp", "kernels.cu"}) {
    write_file(folder.path() + "/" + name, "int of_" + name.substr(0, name.find('.')) + ";");
  }
  const CppProject project({folder.path() + "/step.cpp"}, {}, {"step.cpp", "linked.cpp"});
  for (const auto* const name : {"of_step", "of_linked", "of_header", "of_kernels"}) {
    EXPECT_EQ(project.uses(name).size(), 1U) << name;
  }
  EXPECT_TRUE(project.uses("of_other").empty());
  // A program without debug information names none, or others.
  EXPECT_EQ(CppProject({folder.path() + "/step.cpp"}, {}, {"linked.cpp"}).uses("of_other").size(), 1U);
}

}  // namespace
}  // namespace stepleak
