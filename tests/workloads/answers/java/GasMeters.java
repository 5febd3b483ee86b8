// SPDX-License-Identifier: Apache-2.0
// Collects what gas meters tell each quarter of an hour of simulated time, and makes a load curve of each district. Curves
// are sent on after eight seconds, and answers to the districts are kept by a cache of three thousand.

import java.util.ArrayDeque;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;

public class GasMeters {
  static class Curve {
    final int district;
    final long since;
    final double[] cubicMetres = new double[96];
    final String title;

    Curve(int district, long since) {
      this.district = district;
      this.since = since;
      title = "district " + district + " since second " + since;
    }

    void add(int quarter, double amount) {
      cubicMetres[quarter] += amount;
    }
  }

  static class Forecasts extends LinkedHashMap<String, double[]> {
    Forecasts() {
      super(4096, 0.75f, true);
    }

    @Override
    protected boolean removeEldestEntry(Map.Entry<String, double[]> eldest) {
      return size() > 3000;
    }
  }

  private final ArrayDeque<Curve> curves = new ArrayDeque<>();
  private final Forecasts forecasts = new Forecasts();
  private double sent;

  void receive(long number, long second, Random chosen) {
    Curve curve = new Curve(chosen.nextInt(900), second);
    for (int n = 0; n < 40; n++) {
      curve.add(chosen.nextInt(96), chosen.nextDouble());
    }
    curves.add(curve);
    forecasts.computeIfAbsent(curve.title.substring(0, 12), t -> new double[48])[(int) (number % 48)] += curve.cubicMetres[0];
    while (curves.peek().since < second - 8) {
      sent += curves.poll().cubicMetres[95];
    }
  }

  public static void main(String[] arguments) throws Exception {
    GasMeters meters = new GasMeters();
    Random chosen = new Random(715);
    long start = System.nanoTime();
    for (long number = 0; ; Thread.sleep(10)) {
      long passed = (System.nanoTime() - start) / 1_000_000;
      for (; number < passed * 3600 / 1000; number++) {
        meters.receive(number, passed / 1000, chosen);
      }
      if (number % 100_000 == 0) {
        System.out.println(meters.sent);
      }
    }
  }
}
