# SPDX-License-Identifier: Apache-2.0
"""Rules of the whole tree that no compiler checks in every build: names that stand in two files of a folder, and its size."""
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# A folder of these is compiled as a few large files (UNITY_BUILD), in which what is local to one file is not.
COMPILED_TOGETHER = ("userspace", "tests/unit", "tests/pipeline", "tests/bpf", "tests/support")
# Code that people read, by lines and files. It only falls: a change that shrinks it lowers these; three may raise them, each by a
# commit of its own that says what for: recordings of every runtime (3,000 lines of tests), openers (1,500, and as many of tests),
# endpoints (3,000, and as many of tests).
MAX_LINES, MAX_FILES = 184347, 1770
SLACK = 300  # lines that a change may leave for the next one
CODE = {".cc", ".h", ".c", ".py", ".sh", ".js"}
NOT_COUNTED = {"goldens", "golden", "recordings", "fixtures", "mutations", "corpus", "workloads", "newcomer"}
# Found by the type of their argument, by gtest and nlohmann_json.
OVERLOADED = {"PrintTo", "to_json", "from_json"}
# At the start of a line, as clang-format leaves what stands in a namespace.
TYPE = re.compile(r"(?:struct|class|enum class|enum|union) (\w+)\b(?!;|::|<)")
FUNCTION = re.compile(r"[^=({]*?(?<!\w)(\w+)\(")
VALUE = re.compile(r"[\w:<>,*&\s]*?(\w+)(?:\[[^\]]*\])?\s*[={;]")
MORE_VALUES = re.compile(r",\s*(k[A-Z]\w*)\s*=")
MACRO = re.compile(r"#define (\w+)")
FORWARD = re.compile(r"(?:struct|class|enum class) \w+;")
RAW_STRING = re.compile(r'R"(\w*)\(.*?\)\1"', re.DOTALL)
# Functions and macros that no interface brings along: whoever uses one includes its header, or compiles only beside others.
INCLUDED_BY_ITS_USER = {header: re.compile(names) for header, names in {
    "cmath": r"\b(HUGE_VAL|NAN|INFINITY)\b|\bstd::(is(nan|finite|inf)|sqrt|pow|log(2|10|1p)?|exp|floor|ceil|l*round|hypot|fabs|fmod)\(",
    "cstring": r"\bstd::(mem|str)(cpy|cmp|ncmp|set|move|chr|rchr|len|str|error)\(",
    "cerrno": r"\berrno\b",
    "limits": r"\bstd::numeric_limits\b",
    "thread": r"\bstd::(jthread|thread|this_thread)\b",
    "charconv": r"\bstd::(from|to)_chars\b",
    "set": r"\bstd::(multi)?set<",
    "numeric": r"\bstd::(accumulate|iota|reduce|gcd)\(",
    "algorithm": r"\bstd::(min|max|clamp|(stable_)?sort|find_if|(any|all|none)_of|(min|max)_element|(lower|upper)_bound|count_if)\("
                 r"|\bstd::ranges::\w+\(",
}.items()}
NOT_OF_ALGORITHM = re.compile(r"\bstd::ranges::(size|begin|end|empty|data|distance|iota|next|prev)\(")
NO_NAMES = ("using ", "namespace ", "template", "TEST", "INSTANTIATE_", "MATCHER", "static_assert", "extern ", "friend ", "public:", "private:", "void describe(", "static void describe(")


def local_names(text):
    """Names that C++ keeps to one file: {name: line}. Aliases may be repeated, so `using` is none."""
    names = {}
    is_local = False
    text = RAW_STRING.sub(lambda raw: "\n" * raw[0].count("\n"), text)
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("namespace {"):
            is_local = True
        elif line.startswith("}") and line.endswith("// namespace"):
            is_local = False
        macro = MACRO.match(line)
        if macro:
            names.setdefault(macro[1], number)
        if not (is_local or line.startswith("static ")) or not re.match(r"\w", line) or line.startswith(NO_NAMES) or FORWARD.match(line):
            continue
        for pattern in (TYPE, FUNCTION, VALUE):
            found = pattern.match(line)
            if found:
                names.setdefault(found[1], number)
                break
        for name in MORE_VALUES.findall(line.split("//")[0]) if line.startswith("constexpr") else ():
            names.setdefault(name, number)
    return names


def shared_types(text):
    """Types that every file may use: {"namespace::name": line}."""
    types = {}
    inside = []
    for number, line in enumerate(RAW_STRING.sub(lambda raw: "\n" * raw[0].count("\n"), text).splitlines(), 1):
        if line.startswith("namespace ") and line.endswith("{"):
            inside.append(line[len("namespace "):-1].strip())
        elif line.startswith("}") and "// namespace" in line and inside:
            inside.pop()
        found = TYPE.match(line)
        if found and "" not in inside and "{" in line:
            types.setdefault("::".join(inside + [found[1]]), number)
    return types


def size(paths):
    """(lines, files) of code among paths from ROOT."""
    counted = [path for path in map(Path, paths) if path.suffix in CODE and path.parts[0] in ("userspace", "bpf", "tests")
               and not NOT_COUNTED & set(path.parts)]
    return sum((ROOT / path).read_bytes().count(b"\n") for path in counted), len(counted)


def clashes(folder):
    """Names local to more than one file of a folder, each with its places."""
    places = {}
    for file in sorted(folder.glob("*.cc")):
        for name, line in local_names(file.read_text()).items():
            places.setdefault(name, []).append(f"{file.name}:{line}")
    return [f"{folder.relative_to(ROOT)}: {name} in {', '.join(where)}"
            for name, where in sorted(places.items()) if len(where) > 1 and name not in OVERLOADED]


def included(file):
    return set(re.findall(r"^#include <(\w+)>", file.read_text(), re.MULTILINE)) if file.is_file() else set()


def forgotten_headers(file):
    """Headers that a file uses by name and neither it, nor its own header, nor what it includes first includes."""
    text = re.sub(r"//.*", "", RAW_STRING.sub("", file.read_text()))
    first = re.search(r'^#include "([^"]+)"', text, re.MULTILINE)
    has = included(file) | included(file.with_suffix(".h")) | (included(ROOT / "userspace" / first[1]) if first else set())
    text = NOT_OF_ALGORITHM.sub("", text)
    return sorted(header for header, names in INCLUDED_BY_ITS_USER.items() if header not in has and names.search(text))


class Names(unittest.TestCase):
    def test_a_file_includes_what_it_calls_and_no_interface_brings(self):
        """Two dozen files compiled as one lend each other their headers; the preset dev compiles each by itself."""
        files = [file for top in COMPILED_TOGETHER for end in ("*.cc", "*.h") for file in sorted((ROOT / top).rglob(end))]
        self.assertGreater(len(files), 800)
        self.assertEqual({str(file.relative_to(ROOT)): found for file in files if (found := forgotten_headers(file))}, {})

    def test_a_name_local_to_a_file_stands_in_no_other_of_its_folder(self):
        """Share the helper, or give it the name of what it does: an overload of another file would be called unseen."""
        found = []
        for top in COMPILED_TOGETHER:
            for folder in [ROOT / top, *sorted(path for path in (ROOT / top).rglob("*") if path.is_dir())]:
                found += clashes(folder)
        self.assertEqual(found, [])

    def test_a_type_is_defined_once(self):
        """Two types of one name and namespace are one to the linker, which takes either one's code."""
        places = {}
        for file in sorted((ROOT / "userspace").rglob("*.h")) + sorted((ROOT / "userspace").rglob("*.cc")):
            for name, line in shared_types(file.read_text()).items():
                places.setdefault(name, []).append(f"{file.relative_to(ROOT)}:{line}")
        self.assertEqual({name: where for name, where in places.items() if len(where) > 1}, {})

    def test_shared_types_are_found_with_their_namespace(self):
        text = "namespace oomw::go {\nstruct One;\nclass Two final : public One {\nnamespace {\nstruct Three {\n}  // namespace\n" \
               "}  // namespace oomw::go\nnamespace oomw {\nenum class Four : int { kA };\n}  // namespace oomw\n"
        self.assertEqual(shared_types(text), {"oomw::go::Two": 3, "oomw::Four": 9})

    def test_what_is_local_is_found(self):
        text = """
namespace oomw {
namespace {

using testing::Each;
constexpr std::size_t kOne = 1, kTwo = 2;  // kThree = 3
const std::map<std::string, int>& four() {
  static int inner = 0;
std::array<char, 8> five[2];
struct Six {
struct Seven;
template <typename T>
T eight(const T& of) {
const char* const kProgram = R"(
int main() {
)";
TEST(Suite, name) {
}  // namespace

int shared() { return 9; }
static void ten(int number) {}
#define ELEVEN 11
}  // namespace oomw
"""
        self.assertEqual(set(local_names(text)), {"kOne", "kTwo", "four", "five", "Six", "eight", "kProgram", "ten", "ELEVEN"})


class Size(unittest.TestCase):
    def test_it_only_falls(self):
        listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=False)
        if listed.returncode:
            self.skipTest("no git repository: which files are the tree's own is not known")
        lines, files = size(path for path in listed.stdout.splitlines() if (ROOT / path).is_file())
        self.assertLessEqual((lines, files), (MAX_LINES, files), f"{lines} lines: {lines - MAX_LINES} more than it may be")
        self.assertLessEqual(files, MAX_FILES)
        self.assertLessEqual(MAX_LINES - SLACK, lines, f"it has shrunk to {lines} lines in {files} files: lower the budget")

    def test_what_is_counted(self):
        lines, files = size(["tests/scripts/test_tree.py", "tests/workloads/memhog.cc", "tests/gate.tsv", "deploy/install.sh"])
        self.assertEqual(files, 1)
        self.assertGreater(lines, 50)


class Mutations(unittest.TestCase):
    def test_each_applies_and_says_which_stages_must_catch_it(self):
        """tests/mutate.sh runs them; the commit that moves a patch's lines makes it anew."""
        stages = {"unit", "pipeline", "bpf", "e2e", "hostile", "deploy", "parsers", "threads"}
        patches = sorted((ROOT / "tests/mutations").glob("*.patch"))
        self.assertTrue(patches)
        for patch in patches:
            found = re.search(r"^Stage: (.+)$", patch.read_text(), re.MULTILINE)
            self.assertTrue(found and set(found[1].split()) <= stages, patch.name)
            done = subprocess.run(["git", "apply", "--check", patch], cwd=ROOT, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, f"{patch.name}: {done.stderr}")


if __name__ == "__main__":
    unittest.main()
