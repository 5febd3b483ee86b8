// SPDX-License-Identifier: Apache-2.0
// Healthy: sessions end after five seconds, requests leave garbage; the heap is smaller than the container.

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;

public class Expiry {
  static class Session {
    final long number;
    final int[] basket = new int[150];

    Session(long number) {
      this.number = number;
    }
  }

  static final Map<Long, Session> ACTIVE = new HashMap<>();
  static final ArrayDeque<Session> BY_AGE = new ArrayDeque<>();
  static final int PER_SECOND = 3000;
  static volatile Object latest;

  static void serve(long number) {
    Session session = new Session(number);
    ACTIVE.put(number, session);
    BY_AGE.add(session);
    if (BY_AGE.size() > PER_SECOND * 5) {
      ACTIVE.remove(BY_AGE.remove().number);
    }
    latest = new byte[3000];
  }

  public static void main(String[] arguments) throws Exception {
    long start = System.nanoTime(), number = 0;
    while (true) {
      while (number < (System.nanoTime() - start) / 1_000_000 * PER_SECOND / 1000) {
        serve(number++);
      }
      Thread.sleep(20);
    }
  }
}
