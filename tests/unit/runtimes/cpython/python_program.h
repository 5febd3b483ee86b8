// SPDX-License-Identifier: Apache-2.0
// A Python program with known objects, for tests that read it from outside.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/files.h"
#include "runtimes/memory_contents.h"
#include "support/started_program.h"

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

// Containers of containers: what each has, as it counts itself, is printed as "BY_TENANT=12345678 ".
inline constexpr const char* kNestedProgram = R"(
import sys, time, types
app = types.ModuleType('app')
sys.modules['app'] = app
class Event:
    __slots__ = ('kind', 'at', 'payload')
    def __init__(self, i):
        self.kind, self.at = 'order %d' % i, i * 0.5
        self.payload = {'id': 'id-%d' % i, 'meta': {'ip': '10.0.0.%d' % i, 'path': '/order?i=%d' % i}, 'tags': ['a%d' % i, 'b%d' % i]}
class Session:
    __slots__ = ('user', 'events')
    def __init__(self, user):
        self.user, self.events = 'user %d' % user, [{'at': i * 0.5, 'path': '/item/%d' % (user * 40 + i)} for i in range(40)]
app.BY_TENANT = {'tenant %d' % tenant: [Event(tenant * 1000 + i) for i in range(600)] for tenant in range(25)}
app.BY_SHARD = {shard: [Session(shard * 10 + i) for i in range(10)] for shard in range(100)}
def size(one, seen):
    if id(one) in seen:
        return 0
    seen.add(id(one))
    inside = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
    inside = [part for pair in inside for part in pair] + [getattr(one, name) for name in getattr(one, '__slots__', ())]
    return sys.getsizeof(one) + sum(size(part, seen) for part in inside)
for name in ('BY_TENANT', 'BY_SHARD'):
    print('%s=%d' % (name, size(vars(app)[name], set())), end=' ')
print('ready', flush=True)
time.sleep(600)
)";

// What it has is held by calls that have not returned, and by one object that nothing but a closure leads to.
inline constexpr const char* kWaitingProgram = R"(
import collections, sys, time, types
app = types.ModuleType('app')
sys.modules['app'] = app
class Box:
    def __init__(self):
        self.rows = ['row %d' % i for i in range(15000)]
def hide(box):
    return lambda: len(box.rows)
app.hidden = hide(Box())
def remember():
    seen = {}
    def look_up(i):
        seen[i] = 'answer %d' % i
    return look_up
look_up = remember()
for i in range(15000):
    look_up(i)
def page(i):
    lines = ['line %d of page %d' % (j, i) for j in range(20)]
    yield
    return lines
app.CURSORS = [page(i) for i in range(2000)]
for cursor in app.CURSORS:
    next(cursor)
def audit(i):
    yield i
app.AUDITS = [audit(i) for i in range(1500)]
def task(number):
    async def page(i):
        return i
    return page(number)
app.TASKS = [task(i) for i in range(100)]
library = types.ModuleType('library')
sys.modules['library'] = library
exec("""
def call(argument):
    print('ready', flush=True)
    time.sleep(600)
    return argument
""", library.__dict__ | {'time': time}, call_names := {})
call = call_names['call']
def run():
    waiting = collections.deque('request %d' % i for i in range(15000))
    call(waiting)
run()
)";

// As the daemon gives them; names in extension modules are not read.
inline constexpr std::array<std::string_view, 2> kFiles = {"python", "libpython"};

inline const ContentFiller* holder(const MemoryContents& contents, const std::string& held_as) {
  const auto found = std::ranges::find(contents.fillers, held_as, &ContentFiller::held_as);
  return found == contents.fillers.end() ? nullptr : &*found;
}

inline constexpr auto kName = [](const auto& version) { return "of_" + std::to_string(version.index); };

// A Python program that has printed what modules, their classes and instances hold, but `app`, and sleeps.
class Python {
 public:
  explicit Python(const std::string& path, const char* program = kProgram) : program_({path, "-c", program}) {
    // It has written; from its sleep on it touches no more memory.
    while (is_ready() && file("stat").find(") S ") == std::string::npos && !file("stat").empty()) ::usleep(1000);
  }
  // Its list becomes eleven times as long, which moves it. Then it ignores the signal.
  void grow() const {
    ::kill(pid(), SIGUSR1);
    while (!ignores(SIGUSR1) && file("stat").find(") Z ") == std::string::npos) ::usleep(1000);
  }
  [[nodiscard]] int pid() const { return program_.pid(); }
  [[nodiscard]] bool is_ready() const { return program_.is_ready(); }
  // "" if the file is gone.
  [[nodiscard]] std::string file(const char* name) const {
    return read_file("/proc/" + std::to_string(pid()) + "/" + name, 4096).value_or("");
  }

 private:
  [[nodiscard]] bool ignores(int number) const {
    const std::string status = file("status"), name = "SigIgn:\t";
    const std::size_t at = status.find(name);
    return at != std::string::npos &&
           (std::stoull(status.substr(at + name.size(), 16), nullptr, 16) >> (number - 1) & 1);
  }

  test::StartedProgram program_;
};

}  // namespace oomw::cpython
