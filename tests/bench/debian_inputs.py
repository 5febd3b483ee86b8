# SPDX-License-Identifier: Apache-2.0
"""Work for the programs of debian_programs.py: large inputs of the kinds that they are made for.

Each function fills a folder, which the program sees as /mnt.
"""
import os


def _write(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def documents(folder, count=10, sections=1000):
    """For Sphinx: chapters of many sections, with tables and references to one another."""
    _write(folder, "conf.py", "project = 'handbook'\nextensions = []\n")
    names = [f"chapter{n}" for n in range(count)]
    _write(folder, "index.rst", "Handbook\n========\n\n.. toctree::\n\n" + "".join(f"   {name}\n" for name in names))
    for n, name in enumerate(names):
        text = f".. _{name}:\n\nChapter {n}\n===========\n\n"
        for k in range(sections):
            text += (f"Section {n}.{k}\n-------------\n\nSee :ref:`chapter{(n * 7 + k) % count}` and *term {k}*. "
                     + "One more sentence with ``code`` and **weight**. " * 6 + "\n\n"
                     + "===== =====\nkey   value\n===== =====\n" + "".join(f"k{i:<4} v{i}\n" for i in range(6))
                     + "===== =====\n\n")
        _write(folder, f"{name}.rst", text)


def python_modules(folder, count=400):
    """For pylint: a package whose modules import one another."""
    _write(folder, "shop/__init__.py", "")
    for n in range(count):
        text = f"from shop import m{n - 1}\n\n" if n else ""
        for k in range(20):
            text += (f"class Order{n}x{k}:\n    def __init__(self, total, lines=None):\n        self.total = total\n"
                     f"        self.lines = lines or []\n\n    def add(self, line):\n"
                     f"        self.lines.append({{'line': line, 'sum': self.total + {k}}})\n"
                     f"        return [entry['sum'] * {n} for entry in self.lines if entry['sum'] > {k}]\n\n\n"
                     f"def check{n}x{k}(order: Order{n}x{k}) -> bool:\n"
                     f"    found = order.add({k})\n    return bool(found) and len(found) > {n}\n\n\n")
        _write(folder, f"shop/m{n}.py", text)


def java_sources(folder, count=4000):
    """For ant: a build file with a javac task, and classes that use one another."""
    _write(folder, "build.xml", "<project default='all'><target name='all'><mkdir dir='/tmp/out'/>"
           "<javac srcdir='/mnt/src' destdir='/tmp/out' fork='false' includeantruntime='false' release='11'/>"
           "</target></project>")
    for n in range(count):
        methods = "".join(
            f"  public java.util.Map<String, java.util.List<Integer>> get{k}(int a) {{\n"
            f"    var found = new java.util.HashMap<String, java.util.List<Integer>>();\n"
            f"    for (int i = 0; i < a; i++) found.computeIfAbsent(\"k\" + i % {k + 2}, x -> new java.util.ArrayList<>())"
            f".add(i * {n});\n    return found;\n  }}\n" for k in range(15))
        other = f"  private final C{n - 1} other = new C{n - 1}();\n" if n else ""
        _write(folder, f"src/shop/C{n}.java", f"package shop;\npublic class C{n} {{\n{other}{methods}}}\n")


def tomcat_base(folder, port):
    """A server with Tomcat's own examples, one of which keeps what it is sent in sessions."""
    _write(folder, "conf/server.xml", f"""<Server port="-1"><Service name="Catalina">
<Connector port="{port}" address="127.0.0.1" protocol="HTTP/1.1"/>
<Engine name="Catalina" defaultHost="localhost"><Host name="localhost" appBase="webapps">
<Context path="/examples" docBase="/usr/share/tomcat10-examples/examples"/></Host></Engine></Service></Server>""")
    for name in ("logs", "temp", "webapps", "work"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)


def ecmascript_modules(folder, count=1200):
    """For bundlers: modules that import one another, all from index.js."""
    _write(folder, "index.js", "".join(f'export * from "./m{n}.js";\n' for n in range(count)))
    for n in range(count):
        text = f'import {{ f{n - 1}_0 }} from "./m{n - 1}.js";\n' if n else ""
        for k in range(60):
            numbers = ", ".join(str(i * k) for i in range(20))
            text += (f"export function f{n}_{k}(a, b) {{ const table = [{numbers}]; for (let i = 0; i < a; i++) "
                     f"{{ if (table[i % 20] > b) return {{ i, b, s: `v${{i}}` + a }}; }} "
                     f"return {f'f{n - 1}_0(a, b)' if n else 'null'}; }}\n")
        _write(folder, f"m{n}.js", text)


def typescript_modules(folder, count=600):
    """For the TypeScript compiler: interfaces and generic functions over them."""
    for n in range(count):
        text = f'import {{ S{n - 1}_0, make{n - 1}_0 }} from "./m{n - 1}";\n' if n else ""
        for k in range(40):
            text += (f"export interface S{n}_{k} {{ id: number; name: string; tags: Map<string, {{ at: Date; value: "
                     f"[number, string, boolean] }}>; next?: S{n}_{max(k - 1, 0)}; }}\n"
                     f"export function make{n}_{k}<T extends keyof S{n}_{k}>(key: T, value: Partial<S{n}_{k}>): "
                     f"Pick<S{n}_{k}, T> & {{ n{k}: number }} {{\n  const all = {{ id: {k}, name: `s${{value.id}}`, "
                     f"tags: new Map(), ...value }} as S{n}_{k};\n"
                     f"  return {{ [key]: all[key], n{k}: all.id * {n} }} as any;\n}}\n")
        _write(folder, f"m{n}.ts", text)


def cxx_source(folder, count=20000):
    """For compilers: one file without any header, of templates and their uses."""
    text = ["template <int N, typename T> struct Row { T first[N % 7 + 1]; Row<N / 2, T>* next; "
            "T sum() const { T all{}; for (const T& one : first) all += one; return next ? all + next->sum() : all; } };\n"
            "template <typename T> struct Row<0, T> { T first; void* next; T sum() const { return first; } };\n"]
    for n in range(count):
        text.append(f"long use{n}(const Row<{n + 1}, long>& row, long seed) {{\n  long all = seed;\n"
                    f"  for (long i = 0; i < row.sum(); ++i) all = all * {n % 31 + 3} + row.first[i % {(n + 1) % 7 + 1}];\n"
                    f"  return all{f' + use{n - 1}(*reinterpret_cast<const Row<{n}, long>*>(&row), all)' if n else ''};\n}}\n")
    _write(folder, "big.cc", "".join(text))


def equations(folder, count=20000):
    """For an SMT solver: products of numbers of 32 bits, which it turns into gates."""
    text = ["(set-logic QF_BV)\n", *(f"(declare-const x{n} (_ BitVec 32))\n" for n in range(count + 2))]
    text += [f"(assert (= (bvmul x{n} x{n + 1}) (bvadd x{n + 2} #x{n * 2654435761 % 2**32:08x})))\n" for n in range(count)]
    _write(folder, "products.smt2", "".join(text) + "(check-sat)\n")


def statements(folder, count=30000):
    """For MariaDB's bootstrap mode: a table in memory that is filled until it may not grow any more."""
    row = ", ".join(f"({{}}, 'customer {k}', REPEAT('x', 120))" for k in range(50))
    text = ["CREATE DATABASE shop;\nSET max_heap_table_size = 4294967296;\n"
            "CREATE TABLE shop.orders (id BIGINT, who VARCHAR(60), note VARCHAR(200), KEY (id)) ENGINE=MEMORY;\n"]
    text += [f"INSERT INTO shop.orders VALUES {row.replace('{}', str(n))};\n" for n in range(count)]
    _write(folder, "fill.sql", "".join(text))


def sqlite_statements(folder, count=4000):
    """For SQLite, in a database in memory."""
    row = ", ".join(f"({{}}{k:03}, 'customer {k}', hex(zeroblob(60)))" for k in range(100))
    text = ["CREATE TABLE orders (id INTEGER PRIMARY KEY, who TEXT, note TEXT);\nCREATE INDEX by_who ON orders (who, note);\n"]
    text += [f"INSERT INTO orders VALUES {row.replace('{}', str(n))};\n" for n in range(count)]
    _write(folder, "fill.sql", "".join(text))


def log_lines(first, count):
    """No two alike."""
    return "".join(f"{n * 2654435761 % 2**32:010} user{n * 40503 % 10**9:09} GET /orders/{n} HTTP/1.1 200\n"
                   for n in range(first, first + count))


def lines(folder, count=3_000_000):
    """For programs that read text: 180 MiB."""
    _write(folder, "lines", log_lines(0, count))


def named_pipe(folder):
    os.mkfifo(os.path.join(folder, "lines"))
