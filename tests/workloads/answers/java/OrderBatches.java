// SPDX-License-Identifier: Apache-2.0
// Healthy: a batch of orders every three seconds, forgotten after it; between them much garbage that dies young.

import java.util.ArrayList;
import java.util.List;

public class OrderBatches {
  record Order(int number, String customer, double[] amounts) {}

  static volatile Object latest;

  static double settle(int orders) {
    List<Order> batch = new ArrayList<>();
    for (int i = 0; i < orders; i++) {
      batch.add(new Order(i, "customer " + i % 900, new double[20]));
    }
    return batch.stream().mapToDouble(order -> order.amounts()[order.number() % 20]).sum();
  }

  public static void main(String[] arguments) throws Exception {
    for (int round = 0; ; round++) {
      latest = round % 30 == 0 ? settle(90_000 + round % 7 * 5000) : new byte[600_000];
      Thread.sleep(100);
    }
  }
}
