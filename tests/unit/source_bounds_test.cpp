// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/source_case.hpp"

namespace stepleak {
namespace {

using enum StructureType;

INSTANTIATE_TEST_SUITE_P(
    OfOneMember, SourceHoldersTest,
    testing::Values(
        SourceCase{"nothing takes out", trainer(""), unbounded, kLosses},
        SourceCase{"read only", trainer("log(at::stack(losses_), losses_.size(), losses_.back());"), unbounded,
                   kLosses},
        SourceCase{"read by known functions", trainer("at::stack(losses_).mean(); for (auto& x : losses_) x.sum();"),
                   unbounded, kLosses},
        SourceCase{"trimmed at a constant",
                   trainer("if (losses_.size() > kMost) losses_.erase(losses_.begin());",
                           "static constexpr std::size_t kMost = 300;"),
                   bounded, kLosses, 300},
        SourceCase{"trimmed at what a constant of another class is",
                   trainer("if (losses_.size() > most_) losses_.erase(losses_.begin());", "int most_ = limit();"),
                   bounded, kLosses},
        SourceCase{"trimmed elsewhere",
                   trainer("trim();", "void trim() { while (losses_.size() > 7) losses_.pop_back(); }"), bounded,
                   kLosses, 7},
        SourceCase{"its length is logged", trainer("if (losses_.size() > 300) std::puts(\"many\");"), unbounded,
                   kLosses},
        SourceCase{
            "one of them by chance",
            trainer("show_one(losses_[random() % losses_.size()]);") + "void show_one(const at::Tensor& loss) {}",
            unbounded, kLosses},
        SourceCase{"its length is a number modulo another", trainer("const auto id = losses_.size(); show(id % 4096);"),
                   unbounded, kLosses},
        SourceCase{"its length chooses where a loop begins",
                   trainer("const auto from = losses_.size() > most_ ? losses_.size() - most_ : 0;\n"
                           "for (auto i = from; i < losses_.size(); ++i) show(i);",
                           "std::size_t most_ = 32;"),
                   unbounded, kLosses},
        SourceCase{"its length is where a loop begins that asks for each",
                   trainer("for (auto i = losses_.size(); i-- > 0;) show(get<Loss>(i));"), unbounded, kLosses},
        SourceCase{"its length chooses how many go",
                   trainer("const auto old = losses_.size() > 32 ? losses_.size() - 32 : 0;\n"
                           "if (old > 0) losses_.pop_front();"),
                   bounded, kLosses},
        SourceCase{"its length chooses what is called", trainer("losses_.size() > 32 ? losses_.pop_back() : void();"),
                   bounded, kLosses, 32},
        SourceCase{"emptied at each multiple of a length", trainer("if (losses_.size() % 64 == 0) losses_.clear();"),
                   bounded, kLosses, 64},
        SourceCase{"emptied where no remainder is left", trainer("if (!(losses_.size() % kMost)) losses_.clear();"),
                   bounded, kLosses},
        SourceCase{"its length is asserted", trainer("EXPECT_LT(losses_.size(), 300); assert(losses_.size() < 300);"),
                   unbounded, kLosses},
        SourceCase{"emptied now and then", trainer("if (++n_ % 50 == 0) losses_.clear();", "int n_ = 0;"), reset,
                   kLosses},
        SourceCase{"replaced now and then", trainer("if (++n_ % 50 == 0) losses_ = {};", "int n_ = 0;"), reset,
                   kLosses},
        SourceCase{"swapped", trainer("if (++n_ % 50 == 0) std::swap(losses_, old_);", "int n_ = 0;"), reset, kLosses},
        SourceCase{"emptied by what no step calls", trainer("", "void reset() { losses_.clear(); }"), uncalled,
                   kLosses},
        SourceCase{"emptied by another object's method of that name",
                   trainer("meter_.reset();",
                           "void reset() { losses_.clear(); } struct Meter { void reset() {} }; Meter meter_;"),
                   uncalled, kLosses},
        SourceCase{"emptied in an object of another class",
                   trainer("report(result_);", "Result result_;") +
                       "struct Result { std::vector<at::Tensor> losses_; };\nvoid report(Result& result) { "
                       "result.losses_.clear(); }",
                   unbounded, kLosses},
        SourceCase{"emptied by its constructor", trainer("", "public:\n Trainer() { losses_.clear(); }"), unbounded,
                   kLosses},
        SourceCase{"emptied by its destructor", trainer("", "~Trainer() { losses_.clear(); }"), unbounded, kLosses},
        SourceCase{"one is taken out", trainer("if (n_++ % 2 == 0) losses_.pop_back();", "int n_ = 0;"), conditional,
                   kLosses},
        SourceCase{"a reference goes on", trainer("auto& same = losses_; if (same.size() > 9) same.clear();"), bounded,
                   kLosses, 9},
        SourceCase{"a constant reference goes on", trainer("const auto& same = losses_; same.size();"), unbounded,
                   kLosses},
        SourceCase{"a function trims it",
                   trainer("trim(losses_);") +
                       "void trim(std::vector<at::Tensor>& list) { if (list.size() > 8) list.clear(); }",
                   bounded, kLosses, 8},
        SourceCase{"a function reads it",
                   trainer("show(losses_);") + "void show(const std::vector<at::Tensor>& list) {}", unbounded, kLosses},
        SourceCase{
            "trimmed in the warm-up alone",
            trainer("trim(step_++);",
                    "int step_ = 0; size_t most_; int warm_up_;\n void trim(int step) {\n  if (step > warm_up_) return;"
                    "\n  while (losses_.size() > most_) losses_.pop_back();\n }\n"),
            conditional, kLosses},
        SourceCase{
            "trimmed where there is something",
            trainer("trim(step_++);",
                    "int step_ = 0; size_t most_; int warm_up_;\n void trim(int step) {\n  if (losses_.empty()) return;"
                    "\n  while (losses_.size() > most_) losses_.pop_back();\n }\n"),
            bounded, kLosses},
        SourceCase{"trimmed to a number in the warm-up alone",
                   trainer("trim(step_++);",
                           "int step_ = 0; int warm_up_;\n void trim(int step) {\n  if (step > warm_up_) return;"
                           "\n  while (losses_.size() > 32) losses_.pop_back();\n }\n"),
                   bounded, kLosses, 32},
        SourceCase{"a function that is not known gets it", trainer("show(losses_);"), unknown, kLosses},
        SourceCase{"a macro names it", "#define FLUSH() losses_.clear()\n" + trainer("FLUSH();"), unknown, kLosses}));

INSTANTIATE_TEST_SUITE_P(
    OfGuards, SourceHoldersTest,
    testing::Values(
        SourceCase{"until a counter is high",
                   test_with("std::vector<at::Tensor> kept;",
                             "auto x = at::rand(4);\nif (++n < 300) kept.push_back(x);  // keeps"),
                   conditional, "local kept (std::vector<at::Tensor>) -> Tensor", -1, true},
        SourceCase{"every seventh",
                   test_with("std::vector<at::Tensor> kept;",
                             "auto x = at::rand(4);\nif (++n % 7 == 0) kept.push_back(x);  // keeps"),
                   unbounded, "local kept (std::vector<at::Tensor>) -> Tensor", -1, true},
        SourceCase{"left early by a counter",
                   test_with("std::vector<at::Tensor> kept;",
                             "auto x = at::rand(4);\nif (++n > 300) return;\nkept.push_back(x);  // keeps"),
                   conditional, "local kept (std::vector<at::Tensor>) -> Tensor", -1, true},
        SourceCase{"by a flag that nobody changes",
                   test_with("std::vector<at::Tensor> kept; const bool on = true;",
                             "auto x = at::rand(4);\nif (on) kept.push_back(x);  // keeps"),
                   unbounded, "local kept (std::vector<at::Tensor>) -> Tensor", -1, true},
        SourceCase{
            "by a flag that the step changes",
            test_with("std::vector<at::Tensor> kept; bool on = true;",
                      "auto x = at::rand(4);\nif (on) kept.push_back(x);  // keeps\nif (++n == 200) on = false;"),
            conditional, "local kept (std::vector<at::Tensor>) -> Tensor", -1, true},
        SourceCase{
            "once a key",
            test_with(
                "std::map<int, at::Tensor> kept;",
                "auto x = at::rand(4);\nconst int key = n++ % 9;\nif (!kept.count(key)) kept[key] = x;  // keeps"),
            keyed, "local kept (std::map<int,at::Tensor>) -> Tensor", -1, true},
        SourceCase{"by a count",
                   test_with("std::map<int, at::Tensor> kept;", "auto x = at::rand(4);\nkept[n++] = x;  // keeps"),
                   unbounded, "local kept (std::map<int,at::Tensor>) -> Tensor", -1, true}));

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
        SourceCase{"a position that grows", masks_by("position", "position += length;"), unbounded, kMasks},
        SourceCase{"a position that begins again",
                   masks_by("position", "position += length; if (full()) position = 0;"), keyed, kMasks},
        SourceCase{"a remainder of it", masks_by("position % 2", "position += length;"), keyed, kMasks},
        SourceCase{"lengths only", masks_by("length", "position += length;"), keyed, kMasks},
        SourceCase{"a place of the step's own",
                   test_with("", "std::map<int, at::Tensor> parts;\nauto& part = parts[n];\npart = at::rand(4);"),
                   unknown, "", -1, true},
        SourceCase{"a name with a number",
                   test_with("std::map<std::string, at::Tensor> kept;",
                             "auto x = at::rand(4);\nkept.emplace(\"id-\" + std::to_string(n++), x);  // keeps"),
                   unbounded, "local kept (std::map<std::string,at::Tensor>) -> Tensor", -1, true},
        SourceCase{"a name with a number that comes again",
                   test_with("std::map<std::string, at::Tensor> kept;",
                             "auto x = at::rand(4);\nkept.emplace(\"id-\" + std::to_string(n++ % 96), x);  // keeps"),
                   keyed, "local kept (std::map<std::string,at::Tensor>) -> Tensor", -1, true},
        SourceCase{"a number of the step's own",
                   test_with("std::map<int, at::Tensor> kept;",
                             "int i = 0;\nfor (auto& x : at::rand(4).split(1)) kept[i++] = x;  // keeps"),
                   keyed, "local kept (std::map<int,at::Tensor>) -> Tensor", -1, true},
        SourceCase{"a number that another one has",
                   test_with("std::map<int, at::Tensor> kept;", "auto x = at::rand(4);\nkept[m] = x;  // keeps\n++n;"),
                   keyed, "local kept (std::map<int,at::Tensor>) -> Tensor", -1, true},
        SourceCase{"once a counter is high",
                   test_with("std::vector<at::Tensor> kept;",
                             "auto x = at::rand(4);\nif (++n > 50) kept.push_back(x);  // keeps"),
                   unbounded, "local kept (std::vector<at::Tensor>) -> Tensor", -1, true},
        SourceCase{"once a counter is high that goes back",
                   test_with("std::vector<at::Tensor> kept;",
                             "auto x = at::rand(4);\nif (++n > 50) kept.push_back(x);  // keeps\nif (n == 60) n = 0;"),
                   conditional, "local kept (std::vector<at::Tensor>) -> Tensor", -1, true},
        SourceCase{"not before a counter is high",
                   test_with("std::vector<at::Tensor> kept;",
                             "auto x = at::rand(4);\nif (++n < 50) return;\nkept.push_back(x);  // keeps"),
                   unbounded, "local kept (std::vector<at::Tensor>) -> Tensor", -1, true}));

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
    testing::Values(SourceCase{"an entry of a class template's list", R"(
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
                    SourceCase{"children that are moved to where they are kept",
                               tree("children_.push_back(std::move(child));  // keeps"), unbounded,
                               "Node::children_ (std::vector<std::shared_ptr<Node>>) -> Tensor"},
                    SourceCase{"a child that is moved away",
                               tree("children_.push_back(child);  // keeps\nauto gone = std::move(child);"), reset,
                               "Node::children_ (std::vector<std::shared_ptr<Node>>) -> Tensor"},
                    SourceCase{"what an algorithm puts behind what is there", R"(
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
                    SourceCase{"what an algorithm puts into a member", R"(
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

// A program that watches its own loop: `before` it, in each epoch behind its steps, and behind all.
std::string program_with(const std::string& before, const std::string& in_epoch, const std::string& behind) {
  return "struct History {\n std::vector<at::Tensor> losses;\n void add(at::Tensor loss) {\n  losses.push_back(loss);  "
         "// keeps\n }\n void forget() { losses.clear(); }\n};\nint main() {\n History history;\n "
         "stepleak::Watch watch;\n " +
         before +
         "\n for (int epoch = 0; epoch < 3; ++epoch) {\n  for (auto& batch : loader) {\n"
         "   history.add(model(batch));  // made\n   watch.step();\n  }\n  " +
         in_epoch + "\n }\n " + behind + "\n}\n";
}

const std::string kHistory = "History::losses (std::vector<at::Tensor>) -> Tensor";

INSTANTIATE_TEST_SUITE_P(
    OfWatchedLoops, SourceHoldersTest,
    testing::Values(
        SourceCase{"emptied nowhere", program_with("", "", ""), uncalled, kHistory},
        SourceCase{"emptied before the loop", program_with("history.forget();", "", ""), uncalled, kHistory},
        SourceCase{"emptied in the loop", program_with("", "history.forget();", ""), reset, kHistory},
        SourceCase{"emptied behind the loop", program_with("", "", "history.forget();"), uncalled, kHistory},
        SourceCase{"replaced before the loop", program_with("history = History();", "", ""), uncalled, kHistory},
        SourceCase{"replaced in the loop", program_with("", "history = History();", ""), reset, kHistory},
        SourceCase{"emptied by a lambda that the loop calls",
                   program_with("auto forget = [&] { history.forget(); };", "forget();", ""), reset, kHistory},
        SourceCase{"emptied by a thread", program_with("std::thread worker([&] { history.forget(); });", "", ""), reset,
                   kHistory},
        SourceCase{"emptied by a thread that is given a variable",
                   program_with("auto forget = [&] { history.forget(); };\n std::thread worker(forget);", "", ""),
                   reset, kHistory},
        SourceCase{"emptied by a lambda that is called behind it",
                   program_with("auto forget = [&] { history.forget(); };", "", "forget();"), uncalled, kHistory}));

// A window that trims itself once a flag is set. `declared`: the flag; `asked`: in the test; `more`: what changes it.
std::string window_with(const std::string& declared, const std::string& asked, const std::string& more,
                        const std::string& behind = "") {
  return "class Window {\n public:\n void add(at::Tensor loss) {\n  losses_.push_back(loss);  // keeps\n  if (" +
         asked + ") losses_.pop_front();\n }\n " + more +
         "\n std::size_t count() const { return losses_.size(); }\n private:\n std::deque<at::Tensor> losses_;\n " +
         declared +
         "\n};\nint main() {\n Window window;\n stepleak::Watch watch;\n for (int i = 0; i < 900; ++i) {\n"
         "  window.add(model(x));  // made\n  watch.step();\n }\n " +
         behind + "\n}\n";
}

const std::string kOfWindow = "Window::losses_ (std::deque<at::Tensor>) -> Tensor";
const std::string kAsked = "sealed_ && losses_.size() > 32";
const std::string kSealing = "void seal() { sealed_ = true; }";

INSTANTIATE_TEST_SUITE_P(
    OfFlags, SourceHoldersTest,
    testing::Values(
        SourceCase{"never set", window_with("bool sealed_ = false;", kAsked, ""), uncalled, kOfWindow},
        SourceCase{"set by what nobody calls", window_with("bool sealed_ = false;", kAsked, kSealing), uncalled,
                   kOfWindow},
        SourceCase{"set behind the loop", window_with("bool sealed_{false};", kAsked, kSealing, "window.seal();"),
                   uncalled, kOfWindow},
        SourceCase{"set behind the loop by one of its name",
                   window_with("bool sealed_ = false;", kAsked, kSealing, "log.seal();") +
                       "struct Log {\n void seal() { window.seal(); }\n Window window;\n};\n",
                   uncalled, kOfWindow},
        SourceCase{"set in each step",
                   window_with("bool sealed_ = false;", "model.is_ready()) seal();\n  if (" + kAsked, kSealing),
                   bounded, kOfWindow, 32},
        SourceCase{"set by its constructor",
                   window_with("bool sealed_ = false;", kAsked, "Window() : sealed_(true) {}"), bounded, kOfWindow, 32},
        SourceCase{"set by what somebody else calls",
                   window_with("bool sealed_ = false;", kAsked, kSealing) + "void prepare(Window& window) {\n "
                                                                            "window.seal(); }\nstruct Setup { Setup() "
                                                                            "{ prepare(window); } Window window; };\n",
                   bounded, kOfWindow, 32},
        SourceCase{"that begins as true", window_with("bool sealed_ = true;", kAsked, ""), bounded, kOfWindow, 32},
        SourceCase{"that is asked not to be", window_with("bool open_ = true;", "!open_ && losses_.size() > 32", ""),
                   uncalled, kOfWindow},
        SourceCase{"beside another test", window_with("bool sealed_ = false;", "sealed_ || losses_.size() > 32", ""),
                   bounded, kOfWindow, 32}));

// Layers that keep what they gave, each in a list of its own, with a statement before that.
std::string layers_with(const std::string& before) {
  return "class Layers {\n public:\n void step() {\n  " + before +
         "\n  outputs_[0].push_back(at::rand(4));  // made, keeps\n }\n std::vector<std::vector<at::Tensor>> "
         "outputs_;\n};\n";
}

const std::string kOutputs = "Layers::outputs_ (std::vector<std::vector<at::Tensor>>) -> Tensor";

INSTANTIATE_TEST_SUITE_P(
    OfSizes, SourceHoldersTest,
    testing::Values(SourceCase{"that the outer one has", layers_with("outputs_.resize(2);"), unbounded, kOutputs},
                    SourceCase{"that are none", layers_with("outputs_.resize(0);"), reset, kOutputs},
                    SourceCase{"that the inner one has", layers_with("outputs_[0].resize(20);"), conditional,
                               kOutputs}));

// A tree that a step grows, and the object that all of it leads back to.
std::string tree_with(const std::string& before, const std::string& after) {
  return "struct Node : std::enable_shared_from_this<Node> {\n at::Tensor value;\n std::shared_ptr<Node> parent;\n "
         "std::vector<std::shared_ptr<Node>> children;\n void step() {\n  auto child = std::make_shared<Node>();\n  "
         "child->value = at::rand(4);  // made\n  " +
         before + "\n  children.push_back(child);  // keeps\n  " + after + "\n }\n};\n";
}

const std::string kChildren = "Node::children (std::vector<std::shared_ptr<Node>>) -> Tensor";

INSTANTIATE_TEST_SUITE_P(
    OfTrees, SourceHoldersTest,
    testing::Values(SourceCase{"that lead to their parents", tree_with("child->parent = shared_from_this();", ""),
                               unbounded, kChildren},
                    SourceCase{"that let go of their parents", tree_with("", "parent = nullptr;"), reset, kChildren}));

// A cache with a list of its keys by their last use. `touch`: what a look-up does to that list; `evict`: what makes
// room, `removal` by itself.
std::string lru_with(const std::string& touch, const std::string& evict = "if (entries_.size() > capacity_) evict();",
                     const std::string& removal = "entries_.erase(order_.back());\n  order_.pop_back();",
                     const std::string& more = "", const std::string& capacity = "64",
                     const std::string& known = "if (found != entries_.end()) return found->second;") {
  return "class Cache {\n public:\n explicit Cache(std::size_t capacity) : capacity_(capacity) {}\n at::Tensor "
         "get(const "
         "std::string& key) {\n  auto found = entries_.find(key);\n  " +
         touch + "\n  " + known + "\n  auto x = at::rand(4);\n  entries_.emplace(key, x);\n  " + evict +
         "\n  return x;\n }\n private:\n void evict() {\n  " + removal + "\n }\n " + more +
         "\n std::size_t capacity_;\n std::list<std::string> order_;\n std::list<std::string> recent_;\n "
         "std::unordered_map<std::string, at::Tensor> entries_;\n};\nstruct Ranker {\n Cache cache_{" +
         capacity + "};\n void step() {\n  cache_.get(key());  // call\n }\n};\n";
}

const std::string kTouch = "order_.push_front(key);  // made, keeps";
const std::string kEvictIf = "if (entries_.size() > capacity_) evict();";
const std::string kEvictOne = "entries_.erase(order_.back());\n  order_.pop_back();";
const std::string kOrder = "Cache::order_ (std::list<std::string>) -> Tensor";

// What loses one with another container, and no more than was put in, never gets shorter: full when that one is, what
// it gains beyond that stays.
INSTANTIATE_TEST_SUITE_P(
    OfPartners, SourceHoldersTest,
    testing::Values(SourceCase{"each look-up adds one", lru_with(kTouch), bounded, kOrder, 64},
                    SourceCase{"without a function of its own",
                               lru_with(kTouch, "if (entries_.size() > capacity_) {\n  " + kEvictOne + "\n  }", ""),
                               bounded, kOrder, 64},
                    SourceCase{"asked by a method",
                               lru_with(kTouch, kEvictIf, kEvictOne, "", "64",
                                        "if (entries_.contains(key)) {\n   ++hits;\n   return last();\n  }"),
                               bounded, kOrder, 64},
                    SourceCase{"a list beside a list",
                               lru_with(kTouch,
                                        "recent_.push_back(key);\n  if (recent_.size() > 64) {\n"
                                        "   recent_.pop_front();\n   order_.pop_back();\n  }",
                                        ""),
                               bounded, kOrder, 64},
                    SourceCase{"keys that are known make room, too",
                               lru_with(kTouch, kEvictIf, kEvictOne, "", "64", "if (found != entries_.end()) ++hits;"),
                               conditional, kOrder},
                    SourceCase{"keys that are known leave now and then",
                               lru_with(kTouch, kEvictIf, kEvictOne, "", "64",
                                        "if (found != entries_.end() && is_fresh()) return found->second;"),
                               conditional, kOrder},
                    SourceCase{"keys that are known leave now and then, in a block",
                               lru_with(kTouch, kEvictIf, kEvictOne, "", "64",
                                        "if (found != entries_.end()) { if (is_fresh()) return found->second; }"),
                               conditional, kOrder},
                    SourceCase{
                        "keys that are not known leave",
                        lru_with(kTouch, kEvictIf, kEvictOne, "", "64", "if (found == entries_.end()) return make();"),
                        conditional, kOrder},
                    SourceCase{"a capacity that is not known", lru_with(kTouch, kEvictIf, kEvictOne, "", "most()"),
                               conditional, kOrder},
                    SourceCase{"a look-up that takes the old one out", lru_with("order_.remove(key);\n  " + kTouch),
                               conditional, kOrder},
                    SourceCase{"each look-up but some adds one", lru_with("if (found == entries_.end()) " + kTouch),
                               conditional, kOrder},
                    SourceCase{"as many go as are too many",
                               lru_with(kTouch, "while (entries_.size() > capacity_) evict();"), conditional, kOrder},
                    SourceCase{"the stale ones go with one",
                               lru_with(kTouch, kEvictIf,
                                        "while (is_stale(order_.back())) order_.pop_back();\n  entries_.erase(key());"),
                               conditional, kOrder},
                    SourceCase{"the other one loses nothing", lru_with(kTouch, kEvictIf, "order_.pop_back();"),
                               conditional, kOrder},
                    SourceCase{"more go elsewhere", lru_with(kTouch, kEvictIf, kEvictOne, "void trim() { evict(); }"),
                               conditional, kOrder},
                    SourceCase{"it is cleared elsewhere",
                               lru_with(kTouch + "\n  trim();", kEvictIf, kEvictOne,
                                        "void trim() { if (is_time()) order_.clear(); }"),
                               reset, kOrder},
                    SourceCase{"its own length is asked", lru_with(kTouch, "if (order_.size() > capacity_) evict();"),
                               bounded, kOrder, 64},
                    SourceCase{"it goes where nobody sees it", lru_with(kTouch + "\n  lib::compact(order_);"),
                               conditional, kOrder}));

// Sessions in a map, which a step opens and feeds.
std::string sessions_with(const std::string& more) {
  return "struct Session { std::vector<at::Tensor> keys; };\nclass Sessions {\n public:\n void open(long id) {\n  auto "
         "session = std::make_unique<Session>();\n  sessions_.emplace(id, std::move(session));\n }\n void step() {\n  "
         "open(1);\n  auto& session = *sessions_.at(1);\n  session.keys.push_back(at::rand(4));  // made, keeps\n  " +
         more + "\n }\n std::map<long, std::unique_ptr<Session>> sessions_;\n};\n";
}

const std::string kSessionKeys = "Session::keys (std::vector<at::Tensor>) -> Tensor";

INSTANTIATE_TEST_SUITE_P(
    OfSessions, SourceHoldersTest,
    testing::Values(SourceCase{"that are put into a map", sessions_with(""), unbounded, kSessionKeys},
                    SourceCase{"that are taken out", sessions_with("sessions_.erase(1);"), conditional, kSessionKeys}));

}  // namespace
}  // namespace stepleak
