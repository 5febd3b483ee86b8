// SPDX-License-Identifier: Apache-2.0
// Nothing leaks: a table of 20 MiB stays, each request leaves garbage. How large the heap is was decided by options.

import java.util.HashMap;
import java.util.Map;

public class FixedHeap {
  static final class Tariff {
    final int number;
    final long[] prices = new long[48];

    Tariff(int number) {
      this.number = number;
    }
  }

  static final Map<Integer, Tariff> TARIFFS = new HashMap<>();
  static volatile Object latest;

  static void price(int number) {
    StringBuilder text = new StringBuilder();
    for (long price : TARIFFS.get(number % TARIFFS.size()).prices) {
      text.append(price + number).append(';');
    }
    latest = text.toString();
  }

  public static void main(String[] arguments) throws Exception {
    for (int i = 0; i < 40_000; i++) {
      TARIFFS.put(i, new Tariff(i));
    }
    long start = System.nanoTime();
    for (int number = 0; ; ) {
      for (; number < (System.nanoTime() - start) / 1_000_000 * 6; number++) {
        price(number);
      }
      Thread.sleep(20);
    }
  }
}
