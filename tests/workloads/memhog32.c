// SPDX-License-Identifier: Apache-2.0

// memhog32 fills memory until it is killed, as a 32-bit program without a C library: the compiler
// can be there without 32-bit libraries. About 25 MB/s, so that it is seen alive first, also on a busy machine.
//
// gcc -m32 -O1 -ffreestanding -fno-stack-protector -fno-pie -no-pie -nostdlib -static

enum { kMmap2 = 192, kNanosleep = 162, kReadWrite = 3, kPrivateAnonymous = 0x22, kMib = 1 << 20 };

static long call5(long number, long a, long b, long c, long d, long e) {
  long result;
  // The sixth argument of mmap2, its offset, is in ebp.
  __asm__ volatile("push %%ebp; xor %%ebp, %%ebp; int $0x80; pop %%ebp"
                   : "=a"(result)
                   : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
                   : "memory");
  return result;
}

void _start(void) {
  const long pause[2] = {0, 40000000};
  for (;;) {
    char* block = (char*)call5(kMmap2, 0, kMib, kReadWrite, kPrivateAnonymous, -1);
    for (int at = 0; at < kMib; at += 4096) block[at] = 1;
    call5(kNanosleep, (long)pause, 0, 0, 0, 0);
  }
}
