// SPDX-License-Identifier: Apache-2.0
// Imports timetables of bus lines: a line is read as a whole, sorted, checked and forgotten. After 24 seconds the national
// railways send theirs as one line.

import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;

public class Timetables {
  record Departure(String trip, int stop, int second, String platform) {}

  static class Line {
    final String name;
    final List<Departure> departures = new ArrayList<>();

    Line(String name) {
      this.name = name;
    }
  }

  private long conflicts;

  Line readLine(String name, Iterator<String> rows) {
    Line line = new Line(name);
    while (rows.hasNext()) {
      String[] row = rows.next().split(",");
      line.departures.add(new Departure(row[0], Integer.parseInt(row[1]), Integer.parseInt(row[2]), row[3]));
    }
    return line;
  }

  void importLine(String name, Iterator<String> rows) {
    Line line = readLine(name, rows);
    line.departures.sort(Comparator.comparingInt(Departure::second));
    for (int n = 1; n < line.departures.size(); n++) {
      Departure before = line.departures.get(n - 1), next = line.departures.get(n);
      if (before.second() == next.second() && before.platform().equals(next.platform())) conflicts++;
    }
  }

  /** The rows of a file, read one by one. */
  static Iterator<String> rows(long count) {
    return new Iterator<>() {
      private long number;

      @Override
      public boolean hasNext() {
        return number < count;
      }

      @Override
      public String next() {
        long n = number++;
        return "trip-" + n / 30 + "," + n % 8000 + "," + n * 7919 % 86_400 + ",platform " + n % 24;
      }
    };
  }

  public static void main(String[] arguments) throws Exception {
    Timetables timetables = new Timetables();
    long start = System.nanoTime();
    for (int number = 0; (System.nanoTime() - start) / 1_000_000_000 < 24; number++, Thread.sleep(100)) {
      timetables.importLine("bus " + number, rows(3000));
    }
    timetables.importLine("railways", rows(9_000_000));
  }
}
