// SPDX-License-Identifier: Apache-2.0
namespace oomw::cli {
int run_command_line(int argc, char** argv);  // entry.cc: compiled with the other files of its room, and not after them
}

int main(int argc, char** argv) { return oomw::cli::run_command_line(argc, argv); }
