# SPDX-License-Identifier: Apache-2.0
# cmake -DASSETS=file;file -DOUT=dir -P assets.cmake: packs each file and writes assets_table.cc, which includes the
# packed bytes by the assembler: 0.1 s, where an array of numbers takes the compiler 6 s.
file(MAKE_DIRECTORY ${OUT})
set(blobs "")
set(table "")
set(index 0)
foreach(asset ${ASSETS})
  get_filename_component(name ${asset} NAME)
  execute_process(COMMAND gzip -9nc ${asset} OUTPUT_FILE ${OUT}/${name}.gz COMMAND_ERROR_IS_FATAL ANY)
  string(APPEND blobs "asm(\".section .rodata\\nasset_${index}:\\n.incbin \\\"${OUT}/${name}.gz\\\"\\nasset_${index}_end:\\n.previous\");\n"
    "extern \"C\" const char asset_${index}[], asset_${index}_end[];\n")
  string(APPEND table "      {\"${name}\", packed(asset_${index}, asset_${index}_end)},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUT}/assets_table.cc "// Made by assets.cmake.
#include \"web/site/assets.h\"

${blobs}
namespace oomw {

static std::string_view packed(const char* begin, const char* end) { return {begin, static_cast<std::size_t>(end - begin)}; }

std::span<const Asset> assets() {
  static const Asset all[] = {
${table}  };
  return all;
}

}  // namespace oomw
")
