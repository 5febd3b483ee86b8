// SPDX-License-Identifier: Apache-2.0
// A JVM's memory made by hand: tables, flags, one loader with its classes and a Serial heap with objects. Each part can
// be forged through `put`. One of Java 8 has other names for it, and fewer of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "memory/fresh_memory.h"
#include "runtimes/jvm/java_reading.h"

namespace oomw::test {

class FakeJvm {
 public:
  static constexpr std::uint64_t kBase = 0x10000000, kSize = 512u << 10;
  static constexpr std::uint64_t kHeap = kBase + (128u << 10), kHeapSize = 256u << 10;
  static constexpr std::uint64_t kClasses = kBase + (400u << 10);  // where narrow class pointers begin

  enum class Java { k8, k17, k25 };

  explicit FakeJvm(Java java = Java::k25) : java_(java), bytes_(kSize) {
    declare_fields();
    make_heap();
    make_flags();
    make_threads();
    make_loader();
    write_tables();
  }

  template <typename T>
  void put(std::uint64_t address, T value) {
    std::memcpy(bytes_.data() + (address - kBase), &value, sizeof value);
  }
  template <typename T>
  [[nodiscard]] T get(std::uint64_t address) const {
    T value;
    std::memcpy(&value, bytes_.data() + (address - kBase), sizeof value);
    return value;
  }
  std::uint64_t take(std::size_t size) {
    next_ = (next_ + 15) / 16 * 16;
    return std::exchange(next_, next_ + size);
  }
  std::uint64_t text(const std::string& text) {
    const std::uint64_t at = take(text.size() + 1);
    std::memcpy(bytes_.data() + (at - kBase), text.c_str(), text.size() + 1);
    return at;
  }
  // Its narrow pointer. layout: the size of an instance, or of an array as HotSpot has it.
  std::uint32_t add_class(const std::string& name, std::int32_t layout) {
    const std::uint64_t klass = next_class_;
    next_class_ += 64;
    put(klass + 8, layout);
    put(klass + 16, symbol_of(name));
    put(klass + 24, get<std::uint64_t>(loader + 8));  // the list of the loader
    put(loader + 8, klass);
    return static_cast<std::uint32_t>((klass - kClasses) / 8);
  }
  struct JavaField {
    std::string name, signature;
    std::uint32_t offset;
    bool is_static = false;
  };
  // What the class declares itself. Its own object, with its static fields, is the next of the heap.
  std::uint64_t declare(std::uint32_t narrow, const std::vector<JavaField>& fields, std::uint32_t super = 0) {
    const std::uint64_t klass = kClasses + std::uint64_t{narrow} * 8;
    const std::uint64_t pool = take(16 + 8 * (2 * fields.size() + 1)), handle = take(8);
    put(pool + 8, static_cast<std::int32_t>(2 * fields.size() + 1));
    std::vector<std::uint8_t> stream = {static_cast<std::uint8_t>(fields.size() + 1), 1};
    const std::uint64_t table = take(4 + 12 * fields.size());
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const auto name = static_cast<std::uint8_t>(2 * i + 1);
      put(pool + 16 + 8 * name, symbol_of(fields[i].name));
      put(pool + 24 + 8 * name, symbol_of(fields[i].signature));
      const std::uint16_t access = fields[i].is_static ? 8 : 0;
      const std::uint32_t packed = fields[i].offset << 2 | 1;
      const std::uint16_t record[] = {access,
                                      name,
                                      static_cast<std::uint16_t>(name + 1),
                                      0,
                                      static_cast<std::uint16_t>(packed),
                                      static_cast<std::uint16_t>(packed >> 16)};
      for (std::size_t j = 0; j < 6; ++j) put(table + 4 + 12 * i + 2 * j, record[j]);
      stream.insert(stream.end(), {static_cast<std::uint8_t>(name + 1), static_cast<std::uint8_t>(name + 2)});
      const std::uint32_t more = fields[i].offset < 191 ? 0 : fields[i].offset - 191;
      stream.push_back(static_cast<std::uint8_t>(fields[i].offset - more + more % 64 + 1));
      if (fields[i].offset >= 191) stream.push_back(static_cast<std::uint8_t>(more / 64 + 1));
      stream.insert(stream.end(), {static_cast<std::uint8_t>(access + 1), 1 + 4, 7});  // generic, with its signature
    }
    std::uint64_t array = table;
    if (java_ == Java::k25) {
      array = take(4 + stream.size());
      put(array, static_cast<std::int32_t>(stream.size()));
      for (std::size_t i = 0; i < stream.size(); ++i) put(array + 4 + i, stream[i]);
    }
    put(handle, top_);
    put(klass + 32, pool);
    put(klass + 40, handle);
    put(klass + 48, array);
    put(klass + 56, static_cast<std::uint16_t>(fields.size()));
    const auto holds = [](const JavaField& one) { return one.is_static && one.signature.size() > 1; };
    put(klass + 58, static_cast<std::uint16_t>(std::count_if(fields.begin(), fields.end(), holds)));
    if (super != 0) put(klass, kClasses + std::uint64_t{super} * 8);
    return top_;
  }
  void add_object(std::uint32_t klass, std::uint64_t size) {
    put(top_ + 8, klass);
    top_ += size;
    put(eden + 8, top_);
  }
  void add_array(std::uint32_t klass, std::uint32_t length, std::uint64_t size) {
    put(top_ + 12, length);
    add_object(klass, size);
  }
  // Bytes in the heap that are no object.
  void add_rubbish(std::uint64_t size) { add_object(0, size); }
  // The rest of a thread's buffer, from here on.
  void add_gap(std::uint64_t size) {
    put(thread + 16, top_);
    put(thread + 24, top_ + size - 16);
    top_ += size;
    put(eden + 8, top_);
  }

  [[nodiscard]] Result<jvm::JavaReading> read(std::uint64_t max_bytes = 64u << 20) const {
    const SpanSource memory(bytes_, kBase);
    return read_from(memory, max_bytes);
  }
  [[nodiscard]] Result<jvm::JavaReading> read_from(const ByteSource& memory,
                                                   std::uint64_t max_bytes = 64u << 20) const {
    MemoryMap map = MemoryMap::parse("10000000-10080000 rw-p 00000000 00:00 0\n");
    const AddressSpace space(memory, std::move(map), PresentPages({{kBase, kBase + kSize}}), {}, max_bytes);
    // Every page is one of its own memory.
    const AllPresent present;
    return jvm::read_java(FreshMemory(space, memory, present), symbols);
  }

  // All of its memory as it is now.
  [[nodiscard]] std::vector<std::byte> bytes() const { return bytes_; }
  // Where the next object will be.
  [[nodiscard]] std::uint64_t top() const { return top_; }
  // Of these pieces of the heap, whatever its tables say.
  [[nodiscard]] Result<jvm::ClassHistogram> histogram(const std::vector<jvm::HeapSpace>& spaces,
                                                      const jvm::HistogramLimits& limits) const {
    const SpanSource memory(bytes_, kBase);
    MemoryMap map = MemoryMap::parse("10000000-10080000 rw-p 00000000 00:00 0\n");
    const AddressSpace space(memory, std::move(map), PresentPages({{kBase, kBase + kSize}}), {}, 64u << 20);
    const AllPresent present;
    const FreshMemory process(space, memory, present);
    CachedReader reader(process, 64u << 20, 4096);
    ASSIGN_OR_RETURN(const jvm::Jvm jvm, jvm::Jvm::open(reader, symbols));
    return jvm::read_class_histogram(jvm, process, spaces, {}, limits);
  }

  jvm::VmSymbols symbols;
  std::uint64_t loader = 0, eden = 0, thread = 0, records = 0, max_heap = 0, last_name = 0;

 protected:
  class AllPresent final : public ByteSource {
   public:
    Result<std::size_t> read_some(std::uint64_t, std::span<std::byte> out) const override {
      const std::uint64_t entry = std::uint64_t{1} << 63;
      for (std::size_t i = 0; i + 8 <= out.size(); i += 8) std::memcpy(out.data() + i, &entry, sizeof entry);
      return out.size();
    }
  };
  struct Field {
    std::string type, name;
    bool is_static;
    std::uint64_t where;
  };

  void field(const char* type, const char* name, std::uint64_t offset) {
    fields_.push_back({type, name, false, offset});
    rename(fields_.back());
  }
  void rename(Field& field) const {
    static const std::map<std::string, std::pair<const char*, const char*>> kNamesOf8 = {
        {"JVMFlag._name", {"Flag", "_name"}},
        {"JVMFlag._addr", {"Flag", "_addr"}},
        {"JVMFlag._flags", {"Flag", "_flags"}},
        {"JVMFlag.flags", {"Flag", "flags"}},
        {"JVMFlag.numFlags", {"Flag", "numFlags"}},
        {"SerialHeap._young_gen", {"GenCollectedHeap", "_gens"}},
        {"SerialHeap._old_gen", {"Filler", "none"}},
        {"TenuredGeneration._the_space", {"OneContigSpaceCardGeneration", "_the_space"}},
        {"CompressedKlassPointers._base", {"Universe", "_narrow_klass._base"}},
        {"CompressedKlassPointers._shift", {"Universe", "_narrow_klass._shift"}},
        {"ThreadsSMRSupport._java_thread_list", {"Filler", "none"}},
        {"ClassLoaderData._klasses", {"Filler", "none"}}};
    const auto old = kNamesOf8.find(field.type + "." + field.name);
    if (java_ != Java::k8 || old == kNamesOf8.end()) return;
    field.type = old->second.first;
    field.name = old->second.second;
  }
  // A static one of 8 bytes.
  std::uint64_t variable(const char* type, const char* name, std::uint64_t value) {
    const std::uint64_t at = take(8);
    put(at, value);
    fields_.push_back({type, name, true, at});
    rename(fields_.back());
    return at;
  }

  std::uint64_t symbol_of(const std::string& text) {
    const std::uint64_t symbol = take(8 + text.size());
    put(symbol + 4, static_cast<std::uint16_t>(text.size()));
    std::memcpy(bytes_.data() + (symbol + 6 - kBase), text.data(), text.size());
    return symbol;
  }

  void declare_fields() {
    field("Klass", "_layout_helper", 8);
    field("Klass", "_name", 16);
    field("Klass", "_next_link", 24);
    field("InstanceKlass", "_constants", 32);
    field("Symbol", "_length", 4);
    field("Symbol", "_body", 6);
    field("CollectedHeap", "_reserved", 16);
    field("SerialHeap", "_young_gen", 0);
    field("SerialHeap", "_old_gen", 8);
    field("DefNewGeneration", "_eden_space", 0);
    field("DefNewGeneration", "_from_space", 8);
    field("DefNewGeneration", "_to_space", 8);
    field("TenuredGeneration", "_the_space", 8);
    field("Space", "_bottom", 0);
    field("ContiguousSpace", "_top", 8);
    field("ClassLoaderData", "_klasses", 8);
    field("ClassLoaderData", "_next", 16);
    field("JVMFlag", "_name", 0);
    field("JVMFlag", "_addr", 8);
    field("JVMFlag", "_flags", 16);
    field("ThreadsList", "_length", 0);
    field("ThreadsList", "_threads", 8);
    field("Thread", "_tlab", 0);
    field("Thread", "_stack_base", 32);
    field("Thread", "_stack_size", 40);
    field("ThreadLocalAllocBuffer", "_top", 16);
    field("ThreadLocalAllocBuffer", "_end", 24);
    field("Klass", "_super", 0);
    field("Klass", "_java_mirror", 40);
    field("InstanceKlass", java_ == Java::k25 ? "_fieldinfo_stream" : "_fields", 48);
    field("InstanceKlass", "_java_fields_count", 56);
    field("InstanceKlass", "_static_oop_field_count", 58);
    field("ConstantPool", "_length", 8);
    field("Array<u1>", "_data", 4);
    field("Array<u2>", "_data", 4);
    for (int i = 0; i < 200; ++i) field("Filler", ("f" + std::to_string(i)).c_str(), 0);
  }
  void make_heap() {
    const std::uint64_t heap = take(64), young = take(32);
    eden = take(32);
    const std::uint64_t empty = take(32);
    put(heap, young);
    put(heap + 8, young);  // its only space is empty
    put(heap + 16, kHeap);
    put(heap + 24, kHeapSize / 8);
    put(young, eden);
    put(young + 8, empty);
    for (const std::uint64_t space : {eden, empty}) {
      put(space, kHeap);
      put(space + 8, kHeap);
    }
    variable("Universe", "_collectedHeap", heap);
    variable("CompressedKlassPointers", "_base", kClasses);
    variable("CompressedKlassPointers", "_shift", 3);
  }
  void make_flags() {
    const std::vector<std::pair<std::string, std::uint64_t>> flags = {
        {"UseSerialGC", 1}, {"UseCompressedClassPointers", 1}, {"MaxHeapSize", 512u << 20}};
    const std::uint64_t table = take(24 * flags.size());
    for (std::size_t i = 0; i < flags.size(); ++i) {
      max_heap = take(8);
      put(max_heap, flags[i].second);
      put(table + 24 * i, text(flags[i].first));
      put(table + 24 * i + 8, max_heap);
      put(table + 24 * i + 16, std::int32_t{1});
    }
    variable("JVMFlag", "flags", table);
    variable("JVMFlag", "numFlags", flags.size());
  }
  void make_threads() {
    thread = take(64);
    const std::uint64_t list = take(16), array = take(8);
    put(array, thread);
    put(list, std::int32_t{1});
    put(list + 8, array);
    variable("ThreadsSMRSupport", "_java_thread_list", list);
    if (java_ == Java::k8) {
      variable("Threads", "_thread_list", thread);
      field("JavaThread", "_next", 48);
      variable("Abstract_VM_Version", "_vm_major_version", 25);  // HotSpot's own number then
    }
  }
  void make_loader() {
    loader = take(32);
    variable("ClassLoaderDataGraph", "_head", loader);
  }
  void symbol(const std::string& name, std::uint64_t value) {
    symbols[name] = take(8);
    put(symbols[name], value);
  }
  void write_tables() {
    records = take(48 * (fields_.size() + 1));
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const std::uint64_t record = records + 48 * i;
      put(record, text(fields_[i].type));
      last_name = text(fields_[i].name);
      put(record + 8, last_name);
      put(record + 24, std::int32_t{fields_[i].is_static});
      put(record + 32, fields_[i].is_static ? 0 : fields_[i].where);
      put(record + 40, fields_[i].is_static ? fields_[i].where : 0);
    }
    const std::uint64_t types = take(120);
    put(types, text("Klass"));
    put(types + 8, std::uint64_t{64});
    put(types + 16, text(java_ == Java::k8 ? "Flag" : "JVMFlag"));
    put(types + 24, std::uint64_t{24});
    put(types + 32, text("ConstantPool"));
    put(types + 40, std::uint64_t{16});
    put(types + 48, text("HeapBlock"));
    put(types + 56, std::uint64_t{8});
    put(types + 64, text("PcDesc"));
    put(types + 72, std::uint64_t{16});
    symbol("gHotSpotVMStructs", records);
    const std::pair<const char*, std::uint64_t> columns[] = {{"TypeNameOffset", 0},  {"FieldNameOffset", 8},
                                                             {"IsStaticOffset", 24}, {"OffsetOffset", 32},
                                                             {"AddressOffset", 40},  {"ArrayStride", 48}};
    for (const auto& [name, value] : columns) symbol(std::string("gHotSpotVMStructEntry") + name, value);
    symbol("gHotSpotVMTypes", types);
    symbol("gHotSpotVMTypeEntryTypeNameOffset", 0);
    symbol("gHotSpotVMTypeEntrySizeOffset", 8);
    symbol("gHotSpotVMTypeEntryArrayStride", 16);
  }

  const Java java_;

 private:
  std::vector<std::byte> bytes_;
  std::vector<Field> fields_;
  std::uint64_t next_ = kBase + 4096, next_class_ = kClasses + 64, top_ = kHeap;
};

}  // namespace oomw::test
