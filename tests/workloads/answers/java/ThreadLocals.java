// SPDX-License-Identifier: Apache-2.0
// A pool of threads; each keeps what it parsed in a ThreadLocal list that nobody clears.

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

public class ThreadLocals {
  static class ParsedRow {
    final long number;
    final byte[] cells = new byte[480];

    ParsedRow(long number) {
      this.number = number;
    }
  }

  static final ThreadLocal<List<ParsedRow>> SCRATCH = ThreadLocal.withInitial(ArrayList::new);
  static final int PER_SECOND = 15000;

  static void parse(long number) {
    SCRATCH.get().add(new ParsedRow(number));
  }

  public static void main(String[] arguments) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(16);
    long start = System.nanoTime(), number = 0;
    while (true) {
      while (number < (System.nanoTime() - start) / 1_000_000 * PER_SECOND / 1000) {
        long row = number++;
        pool.execute(() -> parse(row));
      }
      Thread.sleep(20);
    }
  }
}
