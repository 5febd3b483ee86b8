// SPDX-License-Identifier: Apache-2.0
// Seats the guests of weddings so that as many as possible sit with people they know. Positions that were looked at are
// remembered until the plan of the wedding is ready.

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

public class WeddingTables {
  static class Seating {
    final int[] tableOf;
    final double happiness;

    Seating(int[] tableOf, double happiness) {
      this.tableOf = tableOf;
      this.happiness = happiness;
    }
  }

  static class Planner {
    private final double[][] likes;
    private final int tables;
    private final Map<String, Seating> explored = new HashMap<>();

    Planner(int guests, int tables, Random chosen) {
      this.tables = tables;
      likes = new double[guests][guests];
      for (double[] row : likes) {
        for (int n = 0; n < guests; n++) {
          row[n] = chosen.nextDouble();
        }
      }
    }

    double happinessOf(int[] tableOf) {
      double sum = 0;
      for (int a = 0; a < tableOf.length; a++) {
        for (int b = 0; b < a; b++) {
          sum += tableOf[a] == tableOf[b] ? likes[a][b] + likes[b][a] : 0;
        }
      }
      return sum;
    }

    String keyOf(int[] tableOf) {
      StringBuilder key = new StringBuilder();
      for (int table : tableOf) {
        key.append((char) ('a' + table));
      }
      return key.toString();
    }

    Seating explore(int[] tableOf) {
      return explored.computeIfAbsent(keyOf(tableOf), k -> new Seating(tableOf.clone(), happinessOf(tableOf)));
    }

    Seating improve(Random chosen, int steps) throws InterruptedException {
      int[] tableOf = new int[likes.length];
      for (int n = 0; n < tableOf.length; n++) {
        tableOf[n] = n % tables;
      }
      Seating best = explore(tableOf);
      for (int step = 0; step < steps; step++) {
        List<Integer> swapped = new ArrayList<>(List.of(chosen.nextInt(tableOf.length), chosen.nextInt(tableOf.length)));
        int kept = tableOf[swapped.get(0)];
        tableOf[swapped.get(0)] = tableOf[swapped.get(1)];
        tableOf[swapped.get(1)] = kept;
        Seating tried = explore(tableOf);
        best = tried.happiness > best.happiness ? tried : best;
        if (step % 200 == 199) {
          Thread.sleep(8);
        }
      }
      return best;
    }
  }

  public static void main(String[] arguments) throws Exception {
    Random chosen = new Random(714);
    double told = 0;
    long start = System.nanoTime();
    for (int number = 0; ; Thread.sleep(10)) {
      double passed = (System.nanoTime() - start) / 1e9;
      for (; number < passed * 12; number++) {
        boolean castle = number > 12 * 24;
        Planner planner = castle ? new Planner(280, 24, chosen) : new Planner(24 + number % 20, 5, chosen);
        told += planner.improve(chosen, castle ? 2_000_000 : 150).happiness;
      }
      if (told < 0) {
        System.out.println(told);
      }
    }
  }
}
