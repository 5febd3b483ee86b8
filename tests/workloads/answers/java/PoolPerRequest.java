// SPDX-License-Identifier: Apache-2.0
// A request asks three warehouses at once with a thread pool of its own, which nobody shuts down.

import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

public class PoolPerRequest {
  static int PER_SECOND = 14;

  static long stockIn(int warehouse, int article, int depth) {
    return depth == 0 ? warehouse * 31L + article : stockIn(warehouse, article + 1, depth - 1) + article % 3;
  }

  static void handle(int article) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(3);
    List<Callable<Long>> questions =
        List.of(() -> stockIn(1, article, 200), () -> stockIn(2, article, 200), () -> stockIn(3, article, 200));
    pool.invokeAll(questions);
  }

  public static void main(String[] arguments) throws Exception {
    long start = System.nanoTime();
    for (int number = 0; ; ) {
      for (; number < (System.nanoTime() - start) / 1_000_000 * PER_SECOND / 1000; number++) {
        handle(number);
      }
      Thread.sleep(20);
    }
  }
}
