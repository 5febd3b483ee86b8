// SPDX-License-Identifier: Apache-2.0
// Nothing leaks: the tariffs stay, and the run of a customer is forgotten when 45 others have been made. How much
// of the memory is for the heap was decided by a percentage.

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;

public class TariffRuns {
  record Charge(int day, String tariff, double amount) {}

  private final TreeMap<String, double[]> tariffs = new TreeMap<>();
  private final ArrayDeque<List<Charge>> recent = new ArrayDeque<>();

  TariffRuns() {
    for (int n = 0; n < 20_000; n++) tariffs.put("tariff " + n, new double[240]);
  }

  double run(Random random) {
    List<Charge> charges = new ArrayList<>();
    for (int n = 0; n < 12_000; n++) {
      String tariff = "tariff " + random.nextInt(20_000);
      charges.add(new Charge(n % 30, tariff, tariffs.get(tariff)[n % 240] + random.nextDouble()));
    }
    recent.add(charges);
    if (recent.size() > 45) recent.remove();
    return charges.stream().mapToDouble(Charge::amount).sum();
  }

  public static void main(String[] arguments) throws Exception {
    TariffRuns runs = new TariffRuns();
    Random random = new Random(74);
    double sum = 0;
    for (; ; Thread.sleep(550)) sum += runs.run(random);
  }
}
