// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/drive/bystander.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>

namespace stepleak {
namespace {

constexpr timespec kDelivery{.tv_sec = 0, .tv_nsec = 50'000'000};
// It may have been stopped, as by a debugger.
constexpr int kMostMilliseconds = 1000;

// Who sends to all processes of our name, or with our command line (pkill, killall), means none of this one, and would
// be taken for who sends to the group.
void take_another_name() {
  constexpr std::string_view kName = "signals";
  ::prctl(PR_SET_NAME, kName.data());
  std::ifstream file("/proc/self/stat");
  const std::string stat(std::istreambuf_iterator<char>(file), {});
  std::istringstream fields(stat.substr(std::min(stat.rfind(')'), stat.size() - 1) + 1));
  // proc(5): of those behind the name, the state is field 3, the arguments lie from field 48 to field 49.
  std::string field;
  for (int number = 3; number < 48 && fields >> field; ++number) {
  }
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  if (!(fields >> begin >> end) || begin == 0 || end - begin <= kName.size()) return;
  auto* const arguments = reinterpret_cast<char*>(begin);
  std::fill(arguments, arguments + (end - begin), '\0');
  std::copy(kName.begin(), kName.end(), arguments);
}

// Signals stay pending here until they are asked for.
[[noreturn]] void stand_by(int channel) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(channel, STDIN_FILENO);  // others wait for the end of what is open here
  ::close_range(STDIN_FILENO + 1, UINT_MAX, 0);
  take_another_name();
  unsigned char asked = 0;
  while (::read(STDIN_FILENO, &asked, 1) == 1) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, asked);
    const unsigned char got = ::sigtimedwait(&signals, nullptr, &kDelivery) == asked ? 1 : 0;
    if (::send(STDIN_FILENO, &got, 1, MSG_NOSIGNAL) != 1) break;
  }
  ::_exit(0);
}

}  // namespace

Bystander::Bystander(std::initializer_list<int> signals) {
  std::array<int, 2> channel{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel.data()) != 0) return;
  sigset_t kept;
  sigset_t before;
  sigemptyset(&kept);
  for (const int signal : signals) sigaddset(&kept, signal);
  ::sigprocmask(SIG_BLOCK, &kept, &before);
  process_ = ::fork();
  if (process_ == 0) stand_by(channel[1]);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  ::close(channel[1]);
  channel_ = channel[0];
}

Bystander::~Bystander() {
  if (channel_ >= 0) ::close(channel_);
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool Bystander::has_got(int signal) const noexcept {
  if (process_ <= 0) return false;
  const auto asked = static_cast<unsigned char>(signal);
  if (::send(channel_, &asked, 1, MSG_NOSIGNAL) != 1) return false;
  pollfd answering{.fd = channel_, .events = POLLIN, .revents = 0};
  unsigned char got = 0;
  return ::poll(&answering, 1, kMostMilliseconds) == 1 && ::read(channel_, &got, 1) == 1 && got == 1;
}

}  // namespace stepleak
