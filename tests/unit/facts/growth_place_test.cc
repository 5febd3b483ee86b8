// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "facts/growth_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oomw {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

GrowthFrame python(const std::string& function, const std::string& file, std::uint64_t line = 10) {
  GrowthFrame frame;
  frame.function = function;
  frame.file = file;
  frame.line = line;
  frame.is_managed = true;
  return frame;
}

GrowthFrame managed(const std::string& function) { return python(function, "", 0); }

GrowthFrame native(const std::string& function, const std::string& module, bool is_allocator = false) {
  GrowthFrame frame;
  frame.function = function;
  frame.module = module;
  frame.is_allocator = is_allocator;
  return frame;
}

GrowthPlace place(std::vector<GrowthFrame> frames) { return place_of({1, true, std::move(frames)}); }

std::string operation_text(std::vector<GrowthFrame> frames) {
  const GrowthPlace found = place(std::move(frames));
  return found.operation ? found.operation->kind + " " + found.operation->name : "";
}

const GrowthFrame kThread = python("Thread.run", "threading.py");

TEST(GrowthPlace, of_a_flask_view_is_the_view_and_the_code_is_what_it_called) {
  const GrowthPlace found =
      place({native("malloc", "libc.so.6", true), native("PyObject_Malloc", "python3.11", true),
             python("generate", "reports.py", 41), python("report_view", "app.py", 12),
             python("Flask.dispatch_request", "app.py"), python("Flask.wsgi_app", "app.py"), kThread});
  EXPECT_EQ(found.code, "generate (reports.py:41)");
  ASSERT_TRUE(found.operation);
  EXPECT_EQ(*found.operation, (Operation{"endpoint", "report_view"}));
}

TEST(GrowthPlace, of_pythons_before_3_11_has_names_without_their_class) {
  EXPECT_EQ(operation_text({python("report_view", "app.py"), python("dispatch_request", "app.py")}),
            "endpoint report_view");
}

TEST(GrowthPlace, of_a_django_view_lies_below_get_response_and_not_in_its_middleware) {
  EXPECT_EQ(operation_text({python("build", "models.py"), python("monthly", "views.py"),
                            python("BaseHandler._get_response", "base.py"), python("audit", "middleware.py"),
                            python("BaseHandler.get_response", "base.py")}),
            "endpoint monthly");
}

TEST(GrowthPlace, of_a_class_based_view_is_its_method) {
  EXPECT_EQ(
      operation_text({python("MonthlyView.get", "reports.py"), python("View.dispatch", "base.py"),
                      python("View.as_view.<locals>.view", "base.py"), python("BaseHandler._get_response", "base.py")}),
      "endpoint MonthlyView.get");
}

TEST(GrowthPlace, of_other_frameworks_is_the_handler) {
  EXPECT_EQ(operation_text({python("export", "api.py"), python("run_endpoint_function", "routing.py")}),
            "endpoint export");
  EXPECT_EQ(operation_text({python("export", "api.py"), python("Application._handle", "web_app.py")}),
            "endpoint export");
  EXPECT_EQ(operation_text(
                {python("Api.do_GET", "service.py"), python("BaseHTTPRequestHandler.handle_one_request", "server.py")}),
            "endpoint Api.do_GET");
  EXPECT_EQ(operation_text({python("nightly", "tasks.py"), python("build_tracer.<locals>.trace_task", "trace.py")}),
            "job nightly");
}

TEST(GrowthPlace, of_a_plain_server_is_what_the_function_of_the_http_method_calls) {
  const GrowthFrame method = python("Api.do_GET", "service.py");
  const GrowthFrame server = python("BaseHTTPRequestHandler.handle_one_request", "server.py");
  EXPECT_EQ(operation_text({python("keep", "service.py"), python("Api.report", "service.py"), method, server}),
            "endpoint Api.report");
  EXPECT_EQ(operation_text({python("dumps", "/usr/lib/python3.11/json/__init__.py"), method, server}),
            "endpoint Api.do_GET");
  EXPECT_EQ(operation_text({python("timed.<locals>.wrapper", "util.py"), method, server}), "endpoint Api.do_GET");
  EXPECT_EQ(
      operation_text({python("keep", "app.py"), python("do_EXPORT", "app.py"), python("dispatch_request", "app.py")}),
      "endpoint do_EXPORT");
}

TEST(GrowthPlace, uses_are_those_of_the_programs_frames_up_to_the_operations) {
  GrowthFrame keep = python("keep", "reports.py"), view = python("report_view", "views.py"),
              flask = python("Flask.dispatch_request", "app.py"), main = python("main", "views.py"),
              installed = python("dumps", "encoder.py");
  keep.uses = {"REQUEST_LOG", "append"};
  view.uses = {"keep"};
  flask.uses = main.uses = installed.uses = {"OTHER"};
  const std::set<std::pair<std::string, std::string>> wanted = {
      {"REQUEST_LOG", "reports.py"}, {"append", "reports.py"}, {"keep", "views.py"}};
  EXPECT_EQ(place({installed, keep, view, flask, main}).uses, wanted);
}

TEST(GrowthPlace, of_code_without_a_name_and_of_an_interpreter_names_nobody) {
  EXPECT_EQ(place({native("malloc", "libc.so.6", true), native("shop+0x670938", "shop")}).code, "");
  EXPECT_EQ(place({native("malloc", "libc.so.6", true), native("Perl_safesysmalloc", "perl")}).code, "");
  EXPECT_EQ(place({native("Perl_sv_grow", "libperl.so.5.36"), native("main", "shop")}).code, "main (shop)");
}

TEST(GrowthPlace, a_decorator_is_not_the_view) {
  EXPECT_EQ(operation_text({python("report", "app.py"), python("timed.<locals>.wrapper", "util.py"),
                            python("Flask.dispatch_request", "app.py")}),
            "endpoint report");
  EXPECT_EQ(operation_text({python("timed.<locals>.wrapper", "util.py"), python("Flask.dispatch_request", "app.py")}),
            "");
}

TEST(GrowthPlace, a_function_that_only_a_thread_or_an_event_loop_called_is_no_operation) {
  const GrowthPlace found = place({python("pump", "worker.py", 3), kThread});
  EXPECT_EQ(found.code, "pump (worker.py:3)");
  EXPECT_FALSE(found.operation);
  EXPECT_EQ(operation_text({python("tick", "worker.py"), python("Handle._run", "events.py")}), "");
}

TEST(GrowthPlace, libraries_are_not_the_programs_own_code) {
  GrowthFrame installed = python("render", "environment.py");
  installed.is_library = true;
  const GrowthPlace found =
      place({python("JSONDecoder.decode", "decoder.py"), installed,
             python("load", "/usr/lib/python3/dist-packages/x/y.py"), python("get", "app.py", 7)});
  EXPECT_EQ(found.code, "get (app.py:7)");
}

TEST(GrowthPlace, a_users_function_with_a_frameworks_name_in_another_file_is_no_dispatcher) {
  EXPECT_EQ(operation_text({python("helper", "tool.py"), python("dispatch_request", "tool.py")}), "");
}

TEST(GrowthPlace, java_names_lose_their_types_and_libraries) {
  EXPECT_EQ(operation_text({managed("byte[] java.util.Arrays.copyOf(byte[], int)"),
                            managed("void com.acme.Cart.add(com.acme.Item)"),
                            managed("void com.acme.CartServlet.doPost(jakarta.servlet.http.HttpServletRequest)"),
                            managed("void jakarta.servlet.http.HttpServlet.service(jakarta.servlet.ServletRequest)")}),
            "endpoint com.acme.CartServlet.doPost");
  EXPECT_EQ(
      place({managed("byte[] java.util.Arrays.copyOf(byte[], int)"), managed("void com.acme.Cart.add(int)")}).code,
      "com.acme.Cart.add");
}

TEST(GrowthPlace, callers_of_javas_code_are_the_programs_own) {
  const GrowthPlace found =
      place({native("Unsafe_SetMemory0", "libjvm.so"), managed("jdk.internal.misc.Unsafe.setMemory()"),
             managed("java.nio.ByteBuffer.allocateDirect()"), managed("acme.Preview.<init>()"),
             managed("acme.Preview.<init>()"), managed("java.util.ArrayList.forEach()"), managed("acme.Printer.send()"),
             managed("acme.Printer.main()")});
  EXPECT_EQ(found.code, "acme.Preview.<init>");
  EXPECT_THAT(found.callers, testing::ElementsAre("acme.Printer.send", "acme.Printer.main"));
}

TEST(GrowthPlace, a_perf_maps_javascript_is_read) {
  const GrowthPlace found =
      place({managed("JS:^fill /srv/app.js:7:12"), managed("LazyCompile:*report /srv/app.js:21:3"),
             managed("JS:*handle /srv/node_modules/express/lib/router/layer.js:86:3")});
  EXPECT_EQ(found.code, "fill (app.js:7)");
  ASSERT_TRUE(found.operation);
  EXPECT_EQ(found.operation->name, "report");
}

TEST(GrowthPlace, native_code_is_the_first_function_that_is_no_allocators_and_no_systems) {
  EXPECT_EQ(place({native("malloc", "libc.so.6", true), native("memcpy", "libc.so.6"), native("Session::put", "shop"),
                   native("main", "shop")})
                .code,
            "Session::put (shop)");
  EXPECT_EQ(place({native("memcpy", "libc.so.6"), native("_PyEval_EvalFrameDefault", "python3.11"),
                   python("<module>", "app.py")})
                .code,
            "<module> (app.py:10)");
}

TEST(GrowthPlace, without_names_is_an_address_with_the_texts_that_its_code_refers_to) {
  const GrowthFrame malloc = native("malloc", "libc.so.6", true), push = native("shop!fn_1ab0", "shop");
  GrowthFrame book = native("shop!fn_2100", "shop"), start = native("shop!fn_900", "shop");
  EXPECT_EQ(place({malloc, push, book}).code, "shop!fn_1ab0");
  book.uses = {"invoice %ld of %s", "no such account"};
  start.uses = {"usage: shop PORT"};
  const GrowthPlace found = place({malloc, push, book, start});
  EXPECT_EQ(found.code, R"(shop!fn_2100, which refers to "invoice %ld of %s" and "no such account")");
  EXPECT_EQ(found.function, "shop!fn_2100");
  EXPECT_EQ(found.module, "shop");
  EXPECT_EQ(place({malloc, native("python3.11!fn_30", "python3.11")}).code, "");
  EXPECT_EQ(place({malloc, native("libx.so!fn_30", "libx.so"), native("x_open", "libx.so"), book}).code,
            "x_open (libx.so)");
  // An event loop of a library calls whatever it is given.
  EXPECT_EQ(place({malloc, push, native("g_main_loop_run", "libglib-2.0.so.0"), start}).code, "shop!fn_1ab0");
  EXPECT_EQ(place({malloc, push, native("g_main_loop_run", "libglib-2.0.so.0"), native("main", "shop")}).code,
            "main (shop)");
}

TEST(GrowthPlace, templates_of_the_languages_library_give_way_to_the_code_that_called_them) {
  const GrowthFrame observe = native("Registry::observe", "shop"), main = native("main", "shop");
  const auto called_by_observe = [&](const std::string& function) {
    return place({native("malloc", "libc.so.6", true), native(function, "shop"), observe, main}).code;
  };
  for (const char* library :
       {"std::__detail::_Map_base<std::__cxx11::basic_string<char>, std::pair<int const, State>, true>::operator[]",
        "void std::vector<State, std::allocator<State> >::_M_realloc_insert<State const&>",
        "std::pair<std::_Rb_tree_iterator<int>, bool> std::_Rb_tree<int>::_M_insert_unique<int>",
        "std::__detail::_Map_base<std::__cxx11::basic_string<char, std::char_traits<char>, std::all...",
        "hashbrown::raw::RawTable<T,A>::reserve_rehash",
        "<alloc::vec::Vec<T> as core::iter::FromIterator<T>>::from_iter", "<u64 as core::fmt::Display>::fmt",
        "<&T as core::fmt::Debug>::fmt", "<[V] as alloc::slice::Concat<T>>::concat", "<alloc::string::String>::push",
        "<alloc::vec::Vec<shop::Order> as core::clone::Clone>::clone", "<*const T>::cast"}) {
    EXPECT_EQ(called_by_observe(library), "Registry::observe (shop)") << library;
  }
  // What a function returns is not whose it is.
  for (const char* own : {"std::vector<int> shop::load<int>", "std::ostream& operator<< <int>", "Cache::operator bool",
                          "shop::standard::put", "shop::(anonymous namespace)::load", "<shop::Cart>::add",
                          "<&shop::Cart as core::fmt::Debug>::fmt", "<[shop::Cart] as core::fmt::Debug>::fmt",
                          "<alloc::vec::Vec<T> as shop::Store>::put", "<u64 as shop::Store>::put"}) {
    EXPECT_EQ(called_by_observe(own), std::string(own) + " (shop)");
  }
  EXPECT_EQ(place({native("malloc", "libc.so.6", true), native("std::thread::_State_impl<work>::_M_run", "shop"),
                   native("start_thread", "libc.so.6")})
                .code,
            "std::thread::_State_impl<work>::_M_run (shop)");
}

TEST(GrowthPlace, callers_of_native_code_are_the_programs_own_with_a_name) {
  const GrowthFrame malloc = native("malloc", "libc.so.6", true), allocate = native("Arena::allocate", "shop"),
                    build = native("build_plan", "shop"), prepare = native("Plans::prepare", "shop"),
                    main = native("main", "shop");
  EXPECT_THAT(
      place({malloc, allocate, build, build, native("shop!fn_10", "shop"), native("std::sys::backtrace::begin", "shop"),
             native("<u64 as core::fmt::Display>::fmt", "shop"), prepare, main})
          .callers,
      ElementsAre("build_plan", "Plans::prepare"));
  EXPECT_THAT(place({allocate, native("start_thread", "libc.so.6"), main}).callers, IsEmpty());
  EXPECT_THAT(place({python("get", "app.py", 7), python("main", "app.py", 9)}).callers, IsEmpty());
}

GrowthFrame go(const std::string& function, const std::string& file, std::uint64_t line = 1) {
  GrowthFrame frame = native(function, "shop");
  frame.file = file;
  frame.line = line;
  return frame;
}

TEST(GrowthPlace, of_go_is_told_as_in_its_heap_profiles) {
  const GrowthFrame copy = go("runtime.memmove", "memmove_amd64.s"), put = go("main.(*arena).put", "arena.go", 35),
                    load = go("main.importFeed", "arena.go", 55), main = go("main.main", "main.go", 90),
                    exit = go("runtime.goexit", "asm_amd64.s");
  const GrowthPlace found = place({copy, go("fmt.Fprintf", "print.go"), put, load, main, exit});
  EXPECT_EQ(found.function, "main.(*arena).put");
  EXPECT_EQ(found.code, "main.(*arena).put (arena.go:35)");
  EXPECT_EQ(found.module, "shop");
  EXPECT_THAT(found.callers, ElementsAre("main.importFeed", "main.main"));
  EXPECT_FALSE(found.operation);
  EXPECT_EQ(place({go("main.(*box[go.shape.struct { Id int }]).fill", "box.go", 7), main}).code,
            "main.(*box[...]).fill (box.go:7)");
  // What another module does is done for the program.
  EXPECT_EQ(place({go("github.com/acme/lru.(*Cache).Add", "lru.go"), put, load, main}).code, found.code);
  EXPECT_EQ(operation_text({put, load, go("main.report", "main.go"), go("net/http.HandlerFunc.ServeHTTP", "server.go"),
                            go("net/http.(*conn).serve", "server.go"), exit}),
            "endpoint main.report");
}

TEST(GrowthPlace, middleware_of_go_is_passed_as_in_its_heap_profiles) {
  const GrowthFrame put = go("main.(*cache).put", "main.go"), pages = go("main.(*pages).ServeHTTP", "main.go"),
                    logged = go("main.(*logged).ServeHTTP", "main.go"),
                    dispatcher = go("net/http.serverHandler.ServeHTTP", "server.go");
  EXPECT_EQ(operation_text({put, pages, logged, dispatcher}), "endpoint main.(*pages).ServeHTTP");
}

TEST(GrowthPlace, of_go_names_nobody_where_only_its_runtime_is_seen) {
  EXPECT_EQ(place({go("runtime.memclrNoHeapPointers", "memclr_amd64.s"), go("runtime.mstart", "asm_amd64.s")}).code,
            "");
  // What C did for it is C's code: the goroutine is on another stack.
  EXPECT_EQ(
      place({native("malloc", "libc.so.6", true), native("render", "shop"), go("runtime.asmcgocall", "asm_amd64.s")})
          .code,
      "render (shop)");
}

TEST(GrowthPlace, what_starts_java_is_nobodys_code) {
  EXPECT_EQ(place({native("malloc", "libc.so.6", true), native("Unsafe_AllocateMemory0", "libjvm.so"),
                   native("JavaMain", "libjli.so"), native("start_thread", "libc.so.6")})
                .code,
            "");
}

TEST(GrowthPlace, a_collectors_thread_names_nobody) {
  const GrowthPlace found = place({native("G1ParTask::work", "libjvm.so"), native("GangWorker::run", "libjvm.so")});
  EXPECT_TRUE(found.is_collector);
  EXPECT_EQ(found.code, "");
}

TEST(GrowthPlace, hostile_names_are_printable_and_bounded) {
  const GrowthPlace found = place({python("a\x1b[31m" + std::string(5000, 'x'), "f\n.py", UINT64_MAX)});
  EXPECT_EQ(found.code.find('\x1b'), std::string::npos);
  EXPECT_LT(found.code.size(), 500u);
  EXPECT_EQ(place({managed("JS:*"), managed("JS:"), managed("("), managed("LazyCompile:x :::")}).operation,
            std::nullopt);
}

}  // namespace
}  // namespace oomw
