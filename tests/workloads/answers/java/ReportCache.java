// SPDX-License-Identifier: Apache-2.0
// Reports are kept by a key that has neither equals nor hashCode: each request adds one, none is found again.

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

public class ReportCache {
  static final class ReportKey {
    final int customer;
    final int month;

    ReportKey(int customer, int month) {
      this.customer = customer;
      this.month = month;
    }
  }

  static final class Report {
    final String title;
    final double[] totals = new double[60];

    Report(ReportKey key) {
      title = "customer " + key.customer + ", month " + key.month;
    }
  }

  static final Map<ReportKey, Report> CACHE = new ConcurrentHashMap<>();
  static final int PER_SECOND = 5000;
  static volatile Object latest;

  static Report reportFor(int customer, int month) {
    latest = new byte[4000];
    return CACHE.computeIfAbsent(new ReportKey(customer, month), Report::new);
  }

  public static void main(String[] arguments) throws Exception {
    long start = System.nanoTime();
    for (int number = 0; ; ) {
      for (; number < (System.nanoTime() - start) / 1_000_000 * PER_SECOND / 1000; number++) {
        reportFor(number % 800, number % 12);
      }
      Thread.sleep(20);
    }
  }
}
