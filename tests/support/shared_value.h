// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <new>
#include <type_traits>

namespace oomw::test {

// A value that forked children share with the test: an int, or an atomic of one.
template <typename T>
class SharedValue {
 public:
  static_assert(std::is_trivially_destructible_v<T>);

  SharedValue() {
    void* const page = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::bad_alloc();
    at_ = new (page) T{};
  }
  ~SharedValue() { ::munmap(at_, sizeof(T)); }
  SharedValue(const SharedValue&) = delete;
  SharedValue& operator=(const SharedValue&) = delete;
  T& operator*() const { return *at_; }

 private:
  T* at_;
};

}  // namespace oomw::test
