// SPDX-License-Identifier: Apache-2.0
// Computes the results of sailing races from the times of all boats at all buoys. The three best of each race are kept
// for the season's table.

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

public class Regatta {
  static class BoatTime {
    final String boat;
    final int[] buoys;
    final double handicap;

    BoatTime(int number, Random chosen) {
      boat = "GER " + number + " " + Integer.toString(chosen.nextInt(1_000_000), 36);
      handicap = 0.8 + chosen.nextDouble() * 0.4;
      buoys = new int[16];
      for (int n = 0; n < buoys.length; n++) {
        buoys[n] = (n == 0 ? 0 : buoys[n - 1]) + 200 + chosen.nextInt(400);
      }
    }

    double corrected() {
      return buoys[buoys.length - 1] * handicap;
    }
  }

  static class Race {
    final String name;
    final List<BoatTime> podium;

    Race(String name, List<BoatTime> podium) {
      this.name = name;
      this.podium = podium;
    }
  }

  static class Season {
    private final Map<String, List<Race>> byClass = new HashMap<>();

    void add(String boatClass, Race race) {
      byClass.computeIfAbsent(boatClass, c -> new ArrayList<>()).add(race);
    }

    int races() {
      return byClass.values().stream().mapToInt(List::size).sum();
    }
  }

  private final Season season = new Season();

  Race finish(int number, Random chosen) {
    List<BoatTime> times = new ArrayList<>();
    for (int boat = 0, boats = 20 + chosen.nextInt(60); boat < boats; boat++) {
      times.add(new BoatTime(number % 700 * 100 + boat, chosen));
    }
    times.sort(Comparator.comparingDouble(BoatTime::corrected));
    return new Race("race " + number, times.subList(0, 3));
  }

  public static void main(String[] arguments) throws Exception {
    Regatta regatta = new Regatta();
    Random chosen = new Random(713);
    String[] classes = {"Laser", "470", "Finn", "Star", "Tornado"};
    long start = System.nanoTime();
    for (int number = 0; ; Thread.sleep(10)) {
      for (; number < (System.nanoTime() - start) / 1_000_000 * 280 / 1000; number++) {
        regatta.season.add(classes[number % classes.length], regatta.finish(number, chosen));
        if (number % 2000 == 0) {
          System.out.println(regatta.season.races() + " races");
        }
      }
    }
  }
}
