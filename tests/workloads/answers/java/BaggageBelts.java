// SPDX-License-Identifier: Apache-2.0
// Follows the bags of an airport from the desk to the aircraft, with all places where each was seen. A bag is forgotten
// when its flight has left, and a flight leaves twelve seconds after its desk has opened.

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

public class BaggageBelts {
  static class Bag {
    final long tag;
    final String owner;
    final List<String> places = new ArrayList<>();

    Bag(long tag, String owner) {
      this.tag = tag;
      this.owner = owner;
    }

    void seen(String place) {
      places.add(place + " at " + places.size() * 3);
    }
  }

  static class Flight {
    final Map<Long, Bag> bags = new HashMap<>();
  }

  private final TreeMap<Long, Flight> flights = new TreeMap<>();
  private long left;

  void checkIn(long number, long second, Random chosen) {
    Bag bag = new Bag(number, "passenger " + chosen.nextInt(1_000_000));
    for (int n = 0; n < 6; n++) {
      bag.seen("belt " + chosen.nextInt(90));
    }
    flights.computeIfAbsent(second, s -> new Flight()).bags.put(number, bag);
    while (flights.firstKey() < second - 12) {
      left += flights.pollFirstEntry().getValue().bags.size();
    }
  }

  public static void main(String[] arguments) throws Exception {
    BaggageBelts belts = new BaggageBelts();
    Random chosen = new Random(615);
    long start = System.nanoTime();
    for (long number = 0; ; Thread.sleep(10)) {
      long passed = (System.nanoTime() - start) / 1_000_000;
      for (; number < passed * 3200 / 1000; number++) {
        belts.checkIn(number, passed / 1000, chosen);
      }
    }
  }
}
