// SPDX-License-Identifier: Apache-2.0
// Reports of a day for 20 seconds; then somebody asks for the year.

import java.util.ArrayList;
import java.util.List;

public class YearReport {
  record Booking(long day, String account, long[] amounts) {}

  static long report(int bookings) {
    List<Booking> rows = new ArrayList<>();
    for (int i = 0; i < bookings; i++) {
      rows.add(new Booking(i % 365, "account-" + i, new long[50]));
    }
    return rows.stream().mapToLong(Booking::day).sum();
  }

  public static void main(String[] arguments) throws Exception {
    for (int i = 0; i < 40; i++) {
      report(4000);
      Thread.sleep(500);
    }
    report(4_000_000);
  }
}
