// SPDX-License-Identifier: Apache-2.0
// A Python program with known objects, for tests that read it from outside.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/text.h"

namespace oomw::cpython {

inline constexpr const char* kProgram = R"(
import decimal, functools, mmap, signal, sys, time, types, weakref
def containers(owner):
    return {name: value for name, value in list(vars(owner).items()) if isinstance(value, (dict, list, set, tuple))}
def owners(module):  # itself, its classes, and instances of classes made in Python
    return [module] + [value for value in list(vars(module).values())
                       if isinstance(value, type) or type(value).__flags__ & 1 << 9 and hasattr(value, '__dict__')]
def show(modules):
    print(' '.join('`%s`%s`' % (name, key) for key, module in modules
                   for owner in owners(module) for name in containers(owner)))
show(list(sys.modules.items()))
app = types.ModuleType('app')
sys.modules['app'] = app
untouched = mmap.mmap(-1, 8 << 20)
class Store:
    CACHE = {}
    def __init__(self):
        self.items = []
app.REQUEST_LOG = [{'id': i, 'path': '/items/%d' % i, 'at': i * 0.5} for i in range(30000)]
app.store = Store()
for i in range(20000):
    Store.CACHE[i] = (i, 'v%d' % i)
    app.store.items.append('line %d of a log' % i)
app.PRICES = {i: [decimal.Decimal(i) / 7] for i in range(10000)}
app.load_page = functools.lru_cache(4000)(lambda i: 'page %d ' % i * 100)
for i in range(4000):
    app.load_page(i)
class Client:
    __slots__ = ('address', '__weakref__')
    def __init__(self, i):
        self.address = 'client %d ' % i * 100
app.CLIENTS = [Client(i) for i in range(3000)]
def keep(group=set(range(30000))):
    return group
class Reference(weakref.ref):
    pass
watch = types.ModuleType('watch')
sys.modules['watch'] = watch
watch.SEEN = [weakref.ref(client) for client in app.CLIENTS]
watch.MARKED = {Reference(client) for client in app.CLIENTS}
watch.BY_NUMBER = weakref.WeakValueDictionary(enumerate(app.CLIENTS))
watch.group = Reference(keep())
def job(i):
    yield i
watch.JOBS = [job(i) for i in range(3000 if sys.version_info >= (3, 11) else 900)]
show([('watch', watch)])
people = {'alice smith': ['a%d' % i for i in range(15000)], 'bob': ['b%d' % i for i in range(15000)]}
def grow(*_):
    app.REQUEST_LOG.extend({'id': i, 'path': '/items/%d' % i} for i in range(300000))
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
signal.signal(signal.SIGUSR1, grow)
print('ready', flush=True)
time.sleep(600)
)";

// A Python program that has printed what modules, their classes and instances hold, but `app`, and sleeps.
class Python {
 public:
  explicit Python(const std::string& path) {
    int ends[2];
    if (::pipe(ends) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(ends[1], 1);
      ::execl(path.c_str(), path.c_str(), "-c", kProgram, nullptr);
      ::_exit(1);
    }
    ::close(ends[1]);
    char byte = 0;
    while (!held_.ends_with("ready\n") && ::read(ends[0], &byte, 1) == 1) held_ += byte;
    is_ready_ = held_.ends_with("ready\n");
    ::close(ends[0]);
    // It has written; from its sleep on it touches no more memory.
    while (is_ready_ && file("stat").find(") S ") == std::string::npos && !file("stat").empty()) ::usleep(1000);
  }
  ~Python() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Python(const Python&) = delete;
  Python& operator=(const Python&) = delete;
  // Its list becomes eleven times as long, which moves it. Then it ignores the signal.
  void grow() const {
    ::kill(pid_, SIGUSR1);
    while (!ignores(SIGUSR1) && file("stat").find(") Z ") == std::string::npos) ::usleep(1000);
  }
  [[nodiscard]] int pid() const { return pid_; }
  // Whether it holds a container of that name outside of `app`: "inside `name` in module `module`".
  [[nodiscard]] bool holds(const std::string& held_as) const {
    const std::vector<std::string_view> parts = split(held_as, '`');
    if (parts.size() < 5 || parts[parts.size() - 3] != " in module ") return false;
    return held_.find("`" + std::string(parts[1]) + "`" + std::string(parts[parts.size() - 2]) + "`") !=
           std::string::npos;
  }
  [[nodiscard]] bool is_ready() const { return is_ready_; }
  // "" if the file is gone.
  [[nodiscard]] std::string file(const char* name) const {
    return read_file("/proc/" + std::to_string(pid_) + "/" + name, 4096).value_or("");
  }

 private:
  [[nodiscard]] bool ignores(int number) const {
    const std::string status = file("status"), name = "SigIgn:\t";
    const std::size_t at = status.find(name);
    return at != std::string::npos &&
           (std::stoull(status.substr(at + name.size(), 16), nullptr, 16) >> (number - 1) & 1);
  }

  int pid_ = -1;
  std::string held_;
  bool is_ready_ = false;
};

}  // namespace oomw::cpython
