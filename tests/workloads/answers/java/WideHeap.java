// SPDX-License-Identifier: Apache-2.0
// Nothing leaks: 10 MiB are kept, the rest is garbage. The heap that it is started with (-Xmx512m -Xmn320m) may take more
// than the container has before anything is collected.

import java.util.ArrayList;
import java.util.List;

public class WideHeap {
  static final List<byte[]> TABLE = new ArrayList<>();
  static final int KIB_PER_SECOND = 8192;
  static volatile Object latest;

  static void convert() {
    latest = new byte[4096];
  }

  public static void main(String[] arguments) throws Exception {
    for (int i = 0; i < 160; ++i) {
      TABLE.add(new byte[64 << 10]);
    }
    long start = System.nanoTime(), kib = 0;
    while (true) {
      for (; kib < (System.nanoTime() - start) / 1_000_000 * KIB_PER_SECOND / 1000; kib += 4) {
        convert();
      }
      Thread.sleep(20);
    }
  }
}
