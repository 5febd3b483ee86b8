// SPDX-License-Identifier: Apache-2.0
// A thread for each request, each deep in a recursion when it begins to wait for an answer that never comes.

import java.util.concurrent.CountDownLatch;

public class StuckThreads {
  static final CountDownLatch ANSWER = new CountDownLatch(1);
  static final int PER_SECOND = 25;

  static long resolve(int depth, long a, long b, long c) {
    if (depth == 0) {
      try {
        ANSWER.await();
      } catch (InterruptedException e) {
        return 0;
      }
    }
    return resolve(depth - 1, a + depth, b * 3, c ^ depth) + a + b + c;
  }

  public static void main(String[] arguments) throws Exception {
    long start = System.nanoTime(), number = 0;
    while (true) {
      for (; number < (System.nanoTime() - start) / 1_000_000 * PER_SECOND / 1000; number++) {
        Thread thread = new Thread(() -> resolve(1000, 1, 2, 3), "request-" + number);
        thread.setDaemon(true);
        thread.start();
      }
      Thread.sleep(20);
    }
  }
}
